"""Replicas that go: out of their Services first, deleted when they are done, or back to serve."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from plimsoll.errors import Invalid
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import endpoint
from plimsoll.kube.http.resources import PODS
from plimsoll.kube.objects.objects import Pod
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_history import PodHistory, creations, is_ready
from support.clusters.pod_lives import condition, name_of, scale, uids, until_gone
from support.clusters.scene import SECONDS, Scene, conditions
from support.objects.job_manifests import (
    a_priority_class,
    a_template,
    a_training_job,
    an_inference_job,
)
from support.programs.asynchronous import asynchronous

DRAIN = timedelta(seconds=4)
LONG = "10m"
GOING = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}


def a_service(
    replicas: int,
    *,
    drain: str = "4s",
    **spec: Any,  # noqa: ANN401 - fields of the spec
) -> Manifest:
    """A service that drains, and may be scaled between 0 and 6."""
    role = {"replicas": {"min": 0, "max": 6}, "drain": drain}
    job = an_inference_job("serve", role=role, **spec)
    job["spec"]["replicas"] = replicas
    return job


def gate(pod: Manifest) -> Manifest:
    """What the readiness gate of a pod says; empty where nothing was said."""
    return condition(pod["status"], "plimsoll.dev/serving")


def says(pod: Manifest) -> str:
    return gate(pod).get("status", "")


def until_draining(scene: Scene, job: Manifest, count: int) -> list[Manifest]:
    """Wait until so many replicas drain, and the status says so; their pods."""

    def closed() -> list[Manifest]:
        return [pod for pod in scene.pods_of(job) if says(pod) == "False"]

    def draining() -> int:
        return scene.status(job)["roles"][0].get("draining", 0)

    wait_until(
        lambda: draining() == len(closed()) == count,
        timeout_seconds=SECONDS,
        what=f"{count} replicas drain",
    )
    return closed()


def until_count(scene: Scene, job: Manifest, count: int) -> list[Manifest]:
    """Wait until there are so many pods."""
    wait_until(
        lambda: len(scene.pods_of(job)) == count,
        timeout_seconds=SECONDS,
        what=f"there are {count} pods",
    )
    return scene.pods_of(job)


def ready(scene: Scene, job: Manifest) -> list[str]:
    return [name_of(pod) for pod in scene.pods_of(job) if is_ready(pod)]


def test_a_replica_that_goes_gets_no_requests_before_it_is_deleted(scene: Scene) -> None:
    scene.add_nodes(fake_node("node"))
    job = a_service(2)
    scene.apply(job)
    both = scene.running(job).pods
    assert {says(pod) for pod in both} == {"True"}
    with PodHistory(scene) as history:
        scale(scene, job, 1)
        (stays,) = until_count(scene, job, 1)
        ended = datetime.now(UTC)
        moments = [pods for pods in history.moments() if pods]
    (goes,) = {name_of(pod) for pod in both} - {name_of(stays)}
    last = [pods[goes] for pods in moments if goes in pods][-1]
    alive = [pods[goes] for pods in moments if goes in pods and not deleted(pods[goes])]
    assert says(alive[-1]) == "False"
    assert gate(alive[-1])["reason"] == "Draining"
    assert not is_ready(alive[-1]), "what plays the kubelet has seen it"
    since = datetime.fromisoformat(gate(last)["lastTransitionTime"])
    assert ended - since >= DRAIN
    assert {says(pods[name_of(stays)]) for pods in moments} == {"True"}
    assert scene.events(job, "Draining")
    wait_until(
        lambda: not scene.status(job)["roles"][0].get("draining"),
        timeout_seconds=SECONDS,
        what="it says that none drains any more",
    )


def deleted(pod: Manifest) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def endpoints(scene: Scene, job: Manifest) -> dict[str, tuple[bool, bool, bool]]:
    """What gateways hear of each pod of a Service: whether it is ready, serving, terminating."""
    path = f"/apis/discovery.k8s.io/v1/namespaces/{scene.namespace}/endpointslices"
    slices = scene.api.items(f"{path}?labelSelector=kubernetes.io/service-name={name_of(job)}")
    kinds = ("ready", "serving", "terminating")
    return {
        end["targetRef"]["name"]: tuple(end["conditions"].get(kind, False) for kind in kinds)
        for each in slices
        for end in each["endpoints"] or ()
    }


def a_sticky_service(scene: Scene, job: Manifest) -> None:
    """A Service that sends each client to the same pod while that is ready."""
    selector = {"plimsoll.dev/job-name": name_of(job)}
    spec = {"selector": selector, "ports": [{"port": 80}], "sessionAffinity": "ClientIP"}
    body = {"metadata": {"name": name_of(job)}, "spec": spec}
    scene.api.create(f"/api/v1/namespaces/{scene.namespace}/services", body)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("drain", "is_told"),
    [(LONG, (False, False, False)), ("0s", (False, True, True))],
    ids=["it drains", "it ends by its own grace"],
)
def test_what_sticky_gateways_are_told_of_a_replica_that_goes(
    scene: Scene, drain: str, is_told: tuple[bool, bool, bool]
) -> None:
    scene.add_nodes(fake_node("node"))
    job = a_service(2, drain=drain)
    job["spec"]["roles"][0]["template"] = a_template(wishes={"hold-deletion-seconds": "3600"})
    scene.apply(job)
    a_sticky_service(scene, job)
    names = {name_of(pod) for pod in scene.running(job).pods}
    serves = (True, True, False)
    wait_until(
        lambda: endpoints(scene, job) == dict.fromkeys(names, serves),
        timeout_seconds=SECONDS,
        what="both are endpoints",
    )
    scale(scene, job, 1)
    wait_until(
        lambda: sorted(endpoints(scene, job).values()) == sorted((is_told, serves)),
        timeout_seconds=SECONDS,
        what="gateways hear that one goes",
    )


def test_whoever_acts_next_goes_on_with_a_drain(scene: Scene) -> None:
    scene.add_nodes(fake_node("node"))
    job = a_service(2)
    scene.apply(job)
    scene.running(job)
    scale(scene, job, 1)
    (goes,) = until_draining(scene, job, 1)
    scene.operator.kill()
    begun = gate(scene.api.get(scene.path("Pod", name_of(goes))))["lastTransitionTime"]
    with PodHistory(scene) as history:
        scene.operator.start()
        until_count(scene, job, 1)
        seen = [pods[name_of(goes)] for pods in history.moments() if name_of(goes) in pods]
    assert {gate(pod)["lastTransitionTime"] for pod in seen} == {begun}


@pytest.mark.slow
def test_a_draining_replica_that_is_wanted_again_serves_on(scene: Scene) -> None:
    scene.add_nodes(fake_node("node"))
    job = a_service(2, drain=LONG)
    scene.apply(job)
    before = uids(scene.running(job).pods)
    scale(scene, job, 1)
    until_draining(scene, job, 1)
    scale(scene, job, 2)
    until_draining(scene, job, 0)
    again = scene.running(job)
    assert uids(again.pods) == before
    assert {says(pod) for pod in again.pods} == {"True"}


def test_a_suspended_service_drains_and_comes_back(scene: Scene) -> None:
    scene.add_nodes(fake_node("node"))
    job = a_service(2)
    scene.apply(job)
    scene.running(job)
    scene.edit(job, {"suspend": True})
    until_draining(scene, job, 2)
    assert scene.status(job)["reason"] == "Suspended"
    until_gone(scene, job)
    until_draining(scene, job, 0)
    scene.edit(job, {"suspend": False})
    assert len(scene.running(job).pods) == 2


@pytest.mark.slow
def test_a_service_drains_to_nothing_and_comes_back(scene: Scene) -> None:
    scene.add_nodes(fake_node("node"))
    job = a_service(1)
    scene.apply(job)
    scene.running(job)
    scale(scene, job, 0)
    until_draining(scene, job, 1)
    status = scene.until(job, reason="ScaledToZero")
    assert conditions(status) | {"Admitted": "True", "Running": "False"} == conditions(status)
    until_gone(scene, job)
    until_draining(scene, job, 0)
    assert scene.until(job, reason="ScaledToZero")["readySummary"] == "0/0"
    scale(scene, job, 1)
    scene.running(job)
    for reason in ("Draining", "ScaledToZero", "Admitted"):
        assert scene.events(job, reason)


def test_a_deleted_service_does_not_wait(scene: Scene) -> None:
    scene.add_nodes(fake_node("node"))
    job = a_service(1, drain=LONG)
    scene.apply(job)
    scene.running(job)
    scene.delete(job)
    until_gone(scene, job)


def another(**wishes: str) -> Manifest:
    """A template with another image."""
    template = a_template(wishes={wish.replace("_", "-"): value for wish, value in wishes.items()})
    template["spec"]["containers"][0]["image"] = "registry.example/main:2"
    return template


def roll_out(scene: Scene, job: Manifest, template: Manifest) -> None:
    scene.edit(job, {"roles": [{**job["spec"]["roles"][0], "template": template}]})


def images(scene: Scene, job: Manifest) -> list[str]:
    return [pod["spec"]["containers"][0]["image"][-1] for pod in scene.pods_of(job)]


def test_a_rollout_drains_each_replica_and_ends_though_another_waits_for_room(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=3))
    job = a_service(2, drain="1s", priorityClassName="high")
    slow = a_template(wishes={"hold-deletion-seconds": "3600"})
    train = a_training_job("train", template=slow)
    scene.apply(a_priority_class("high", 1000), job, train)
    two = [name_of(pod) for pod in scene.running(job).pods]
    scene.running(train)
    scale(scene, job, 3)
    wait_until(
        lambda: len(scene.status(job)["placement"]["assignments"]) == 3,
        timeout_seconds=SECONDS,
        what="the third has its place, and no room yet",
    )
    with PodHistory(scene) as history:
        roll_out(scene, job, another())
        wait_until(
            lambda: images(scene, job) == ["2", "2"] and ready(scene, job) == two,
            timeout_seconds=SECONDS,
            what="both are new and ready",
        )
        moments = list(history.moments())
    served = [sum(is_ready(pods[name]) for name in two if name in pods) for pods in moments]
    assert min(served[served.index(2) :]) == 1, "one at a time"
    assert {name for name, _ in creations(history) if name in two} == set(two)
    dying = [pods[name] for pods in moments for name in two if name in pods and deleted(pods[name])]
    assert {says(pod) for pod in dying} <= {"False"}
    assert "serve-server-2" not in ready(scene, job)


def test_a_rollout_takes_nothing_away_where_there_is_room_for_one_more(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=3))
    job = a_service(2, drain="1s")
    scene.apply(job)
    before = uids(scene.running(job).pods)
    with PodHistory(scene) as history:
        roll_out(scene, job, another())
        wait_until(
            lambda: images(scene, job) == ["2", "2"] and len(ready(scene, job)) == 2,
            timeout_seconds=SECONDS,
            what="both are new and ready, and there is no third",
        )
        moments = list(history.moments())
    served = [sum(map(is_ready, pods.values())) for pods in moments]
    assert min(served[served.index(2) :]) == 2
    assert max(len(pods) for pods in moments) == 3, "one more at a time"
    assert not before.items() & uids(scene.pods_of(job)).items()
    assert all("template" in each["note"] for each in scene.events(job, "Resized"))


def test_a_template_that_cannot_start_takes_nothing_away(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    job = a_service(1, drain="1s")
    scene.apply(job)
    [old] = scene.running(job).pods
    roll_out(scene, job, another(start_seconds="3600"))
    wait_until(
        lambda: sorted(images(scene, job)) == ["1", "2"],
        timeout_seconds=SECONDS,
        what="one of the new template is there as well",
    )
    assert ready(scene, job) == [name_of(old)]
    status = scene.status(job)
    assert (status["readySummary"], status["reason"]) == ("1/1", "Running")
    scene.edit(job, {"roles": job["spec"]["roles"]})
    until_count(scene, job, 1)
    assert uids(scene.pods_of(job)) == uids([old])
    assert ready(scene, job) == [name_of(old)]


@pytest.mark.slow
def test_a_rollout_that_is_stuck_stops_no_scaling(scene: Scene) -> None:
    scene.add_nodes(fake_node("node"))
    job = a_service(2, drain="1s")
    scene.apply(job)
    scene.running(job)
    roll_out(scene, job, another(start_seconds="3600"))
    wait_until(
        lambda: sorted(images(scene, job)) == ["1", "1", "2"],
        timeout_seconds=SECONDS,
        what="a new one is there beside the two",
    )
    serve = [pod for pod in scene.pods_of(job) if is_ready(pod)]
    scale(scene, job, 4)
    until_count(scene, job, 4)
    scale(scene, job, 2)
    left = until_count(scene, job, 3)
    assert uids(serve).items() <= uids(left).items(), "what serves stays"
    assert ready(scene, job) == [name_of(pod) for pod in serve]


@pytest.mark.slow
@asynchronous
async def test_a_gate_is_not_set_on_another_pod_of_the_same_name(
    scene: Scene, control_plane: Cluster
) -> None:
    body = {"metadata": {"name": "pod"}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
    scene.api.create(f"/api/v1/namespaces/{scene.namespace}/pods", body)
    said: Manifest = {"type": "plimsoll.dev/serving", "status": "False"}
    patch = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod", "uid": "another"},
        "status": {"conditions": [said]},
    }
    path = PODS.named("pod", scene.namespace, "status")
    async with KubeClient.to(endpoint(control_plane.kubeconfig)) as client:
        with pytest.raises(Invalid):
            await client.apply(path, patch, Pod)
    (pod,) = scene.api.items(f"/api/v1/namespaces/{scene.namespace}/pods")
    assert not says(pod)


@pytest.mark.slow
def test_a_single_replica_that_moves_is_never_away(scene: Scene) -> None:
    scene.add_nodes(fake_node("old", gpus=1))
    job = a_service(1, drain="1s")
    job["spec"]["roles"][0]["template"] = a_template(wishes={"start-seconds": "3"})
    scene.apply(job)
    (first,) = scene.running(job).pods
    scene.add_nodes(fake_node("new", gpus=1))
    with PodHistory(scene) as history:
        scene.node("old", {"spec": {"taints": [GOING]}})
        wait_until(
            lambda: [pod["spec"].get("nodeName") for pod in scene.pods_of(job)] == ["new"],
            timeout_seconds=SECONDS,
            what="only the replica on the new node is left",
        )
        seen = [[pod for pod in pods.values() if is_ready(pod)] for pods in history.moments()]
    begun = next(at for at, pods in enumerate(seen) if pods)
    assert min(map(len, seen[begun:])) == 1
    (last,) = scene.running(job).pods
    assert name_of(last) != name_of(first)
