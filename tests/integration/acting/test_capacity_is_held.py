"""Capacity that a plan gives away is held for its winner; where pods are refused it is let go."""

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_history import PodHistory, most_gpus
from support.clusters.pod_lives import label, name_of, uids, until_gone, wish
from support.clusters.scene import Scene, conditions
from support.objects.job_manifests import (
    a_gpu_pod,
    a_pool,
    a_priority_class,
    a_template,
    a_training_job,
    an_inference_job,
)


def owners(pods: list[Manifest]) -> set[str]:
    return {label(pod, "job-name") for pod in pods}


def test_what_a_preemption_frees_is_held_until_its_winner_can_start(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    held = a_template(wishes={"hold-deletion-seconds": "3600"})
    victim = a_training_job("victim", workers=2, gpus=2, template=held)
    winner = a_training_job("winner", gpus=4, priorityClassName="urgent")
    third = a_training_job("third", gpus=4, priorityClassName="urgent")
    with PodHistory(scene) as history:
        scene.apply(a_priority_class("urgent", 1000), victim)
        scene.running(victim)
        scene.apply(winner)
        scene.events(victim, "Preempted")
        pods = scene.pods_of(victim)
        assert len(pods) == 2, "its pods take their time to end"
        scene.apply(third)
        status = scene.until(winner, reason="WaitingForCapacity")
        assert conditions(status)["Admitted"] == "True"
        assert "waits for pods to end on node" in status["message"]
        scene.until(third, reason="InsufficientGPUs")
        for pod in pods:
            wish(scene, pod, hold_deletion_seconds="0")
        scene.running(winner)
        moments = [owners(list(moment.values())) for moment in history.moments()]
    assert not [there for there in moments if {"victim", "winner"} <= there]
    assert not [there for there in moments if "third" in there]
    assert most_gpus(history) == {"node": 4}
    assert len(scene.status(victim)["disruptionTimes"]) == 1


def test_a_service_waits_for_the_pods_that_give_way_to_it(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    slow = a_template(wishes={"hold-deletion-seconds": "2"})
    victim = a_training_job("victim", gpus=2, template=slow)
    winner = an_inference_job("winner", replicas=2, priorityClassName="urgent")
    with PodHistory(scene) as history:
        scene.apply(a_priority_class("urgent", 1000), victim)
        scene.running(victim)
        scene.apply(winner)
        scene.running(winner)
    assert most_gpus(history) == {"node": 2}


def away_from(app: str) -> Manifest:
    """A pod template that keeps away from other pods' labels, which plans know nothing about."""
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return a_template(affinity={"podAntiAffinity": rule})


@pytest.mark.slow
def test_where_the_scheduler_refuses_a_pod_the_plan_is_made_again(scene: Scene) -> None:
    scene.add_nodes(fake_node("cheap", gpus=4), fake_node("dear", gpus=4))
    for name, price in (("cheap", "1"), ("dear", "2")):
        scene.apply(a_pool(name, {"kubernetes.io/hostname": name}, pricePerGPUHour=price))
    blocker = a_gpu_pod("blocker", "cheap")
    blocker["metadata"]["labels"] = {"app": "blocker"}
    scene.apply(blocker)
    train = a_training_job("train", template=away_from("blocker"))
    scene.apply(train)
    status = scene.until(train, reason="Admitted")
    assert status["nodesSummary"] == "cheap"
    wait_until(
        lambda: scene.status(train).get("avoidedNodes"), timeout_seconds=60, what="cheap is avoided"
    )
    found = scene.running(train)
    assert found.nodes == ["dear"]
    assert [each["node"] for each in found.status["avoidedNodes"]] == ["cheap"]
    (event,) = scene.events(train, "NodeRefused")
    assert "kube-scheduler refused train-worker-0 on cheap" in event["note"]


@pytest.mark.slow
def test_a_pod_that_no_node_would_do_for_is_not_tried_on_one_after_the_other(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=4), fake_node("other", gpus=4))
    missing = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    template = a_template()
    template["spec"]["volumes"] = [missing]
    train = a_training_job("train", template=template)
    scene.apply(train)
    status = scene.until(train, reason="PodRefused")
    assert 'bind train-worker-0 to no node: persistentvolumeclaim "data" not' in status["message"]
    assert not status.get("avoidedNodes")


def writes(scene: Scene) -> float:
    return scene.operator.metric("plimsoll_api_writes_total")


def test_a_job_whose_pods_a_quota_refuses_says_so_and_leaves_the_server_alone(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    quota = f"/api/v1/namespaces/{scene.namespace}/resourcequotas"
    scene.api.create(quota, {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}})
    job, other = a_training_job("train", workers=2), a_training_job("other", gpus=2)
    scene.apply(job)
    status = scene.until(job, reason="PodRefused")
    assert "exceeded quota: few" in status["message"]
    assert "placement" not in status
    until_gone(scene, job)
    before = writes(scene)
    scene.apply(other)
    scene.running(other)
    assert writes(scene) - before < 12, "other's few, and no attempt after the other for train"
    scene.delete(other)
    scene.api.merge(f"{quota}/few", {"spec": {"hard": {"pods": "9"}}})
    scene.edit(job, {"faultTolerance": {"maxRestarts": 4}})  # anything new is tried at once
    scene.running(job)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        pytest.param(a_template(labels={"team": "no label!"}), "metadata.labels", id="label"),
        pytest.param(a_template(volumes=[{"name": "x" * 253}]), "spec.volumes[0].name", id="name"),
    ],
)
def test_what_the_api_server_refuses_in_a_template_is_reported_in_its_words(
    scene: Scene, template: Manifest, said: str
) -> None:
    scene.add_nodes(fake_node("node", gpus=1))
    job, other = a_training_job("train", template=template), a_training_job("other")
    scene.apply(job)
    assert said in scene.until(job, reason="PodRefused")["message"]
    scene.apply(other)
    scene.running(other)


@pytest.mark.slow
def test_a_template_cannot_take_our_labels(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=1))
    taken = {"plimsoll.dev/job-uid": "somebody-else", "plimsoll.dev/revision": "99"}
    job = a_training_job("train", template=a_template(labels=taken))
    scene.apply(job)
    (pod,) = scene.running(job).pods
    assert label(pod, "job-uid") == pod["metadata"]["ownerReferences"][0]["uid"]
    assert label(pod, "revision") == "1"


@pytest.mark.slow
def test_replicas_of_a_service_run_on_when_a_quota_refuses_one_more(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    quota = f"/api/v1/namespaces/{scene.namespace}/resourcequotas"
    scene.api.create(quota, {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "2"}}})
    job = an_inference_job("serve", replicas=2, role={"replicas": {"min": 2, "max": 4}})
    scene.apply(job)
    before = scene.running(job).uids
    scene.edit(job, {"replicas": 3})
    status = scene.until(job, reason="ReplicasMissing")
    assert "2 of 3 replicas are ready; one more is refused" in status["message"]
    assert "exceeded quota: few" in status["message"]
    assert {pod["metadata"]["uid"] for pod in scene.pods_of(job)} == before
    assert len(scene.events(job, "PodRefused")) == 1
    scene.edit(job, {"replicas": 2})
    scene.until(job, readySummary="2/2", reason="Running")
    scene.api.merge(f"{quota}/few", {"spec": {"hard": {"pods": "9"}}})
    scene.edit(job, {"replicas": 3})
    scene.until(job, readySummary="3/3", reason="Running")
    assert before < {pod["metadata"]["uid"] for pod in scene.pods_of(job)}


def test_a_pod_of_somebody_else_with_the_same_name_is_left_alone(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    foreign = a_gpu_pod("train-worker-1", "node")
    job = a_training_job("train", workers=2)
    scene.apply(foreign)
    before = uids([scene.api.get(scene.path("Pod", name_of(foreign)))])
    scene.apply(job)
    status = scene.until(job, reason="PodRefused")
    assert "Pod train-worker-1 already exists and does not belong to the job" in status["message"]
    until_gone(scene, job)
    assert uids([scene.api.get(scene.path("Pod", name_of(foreign)))]) == before


@pytest.mark.slow
def test_a_pod_of_a_namesake_of_another_kind_is_left_alone(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    service, job = an_inference_job("twin", role={"name": "worker"}), a_training_job("twin")
    scene.apply(service)
    before = scene.running(service).uids
    scene.apply(job)
    status = scene.until(job, reason="PodRefused")
    assert "Pod twin-worker-0 already exists and does not belong to the job" in status["message"]
    assert scene.running(service).uids == before


@pytest.mark.slow
def test_a_service_of_somebody_else_with_the_same_name_is_left_alone(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    services = f"/api/v1/namespaces/{scene.namespace}/services"
    spec = {"ports": [{"port": 80}], "selector": {"app": "shop"}}
    scene.api.create(services, {"metadata": {"name": "shop"}, "spec": spec})
    job = a_training_job("shop", workers=2)
    scene.apply(job)
    status = scene.until(job, reason="PodRefused")
    assert "Service shop already exists and does not belong to the job" in status["message"]
    assert scene.api.get(f"{services}/shop")["spec"]["selector"] == {"app": "shop"}
    assert not scene.pods_of(job)
