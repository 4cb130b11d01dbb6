"""Beside other controllers, schedulers and admission rules: their pods are left alone, and what
they refuse or change is reported on the job, without one write after the other.
"""

from collections.abc import Iterator

import pytest

from plimsoll_devcluster.api_server import ApiServerRefusedError
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import name_of, until_gone
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import a_gpu_pod, a_training_job

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
FEW_WRITES = 12
"""What another job's coming, running and going takes; an attempt for the refused one adds to it."""


def refused(scene: Scene, job: Manifest, message: str) -> None:
    """Wait until a job says that its pods are refused, and see that it leaves it at that."""
    other = a_training_job("other")
    scene.apply(job)
    status = scene.until(job, reason="PodRefused")
    assert message in status["message"]
    assert "placement" not in status
    until_gone(scene, job)
    before = scene.operator.metric("plimsoll_api_writes_total")
    scene.apply(other)
    scene.until(other, observedGeneration=1)
    wait_until(
        lambda: scene.status(other)["reason"] in ("Running", "PodRefused"),
        timeout_seconds=SECONDS,
        what="another job has been seen to",
    )
    assert scene.operator.metric("plimsoll_api_writes_total") - before < FEW_WRITES
    scene.delete(other)


@pytest.fixture
def team_rule(scene: Scene) -> Iterator[str]:
    """A rule of the cluster's owners: each pod says whose team it is."""
    name = f"teams-{scene.namespace}"
    labels = {"kubernetes.io/metadata.name": scene.namespace}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    expression = "has(object.metadata.labels) && has(object.metadata.labels.team)"
    policy = {
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{**rule, "resources": ["pods"]}]},
            "validations": [{"expression": expression, "message": "say whose team it is"}],
        },
    }
    binding = {
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": labels}},
        },
    }
    scene.api.create(f"{ADMISSION}/validatingadmissionpolicies", policy)
    scene.api.create(f"{ADMISSION}/validatingadmissionpolicybindings", binding)
    wait_until(lambda: _is_refused(scene), timeout_seconds=SECONDS, what="the rule holds")
    yield name
    scene.api.delete(f"{ADMISSION}/validatingadmissionpolicybindings/{name}")
    scene.api.delete(f"{ADMISSION}/validatingadmissionpolicies/{name}")


def _is_refused(scene: Scene) -> bool:
    """Whether a pod without a team is; the API server learns of a rule only after a while."""
    pod = {**a_gpu_pod("probe", "nowhere"), "apiVersion": "v1"}
    path = f"/api/v1/namespaces/{scene.namespace}/pods?dryRun=All"
    try:
        scene.api.create(path, pod)
    except ApiServerRefusedError as error:
        return "say whose team it is" in str(error)
    return False


def test_what_an_admission_policy_refuses_is_reported_in_its_words(
    scene: Scene, team_rule: str
) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    job = a_training_job("train", workers=2)
    refused(scene, job, "say whose team it is")
    assert team_rule in scene.status(job)["message"]


@pytest.mark.slow
def test_what_a_limit_range_refuses_is_reported_in_its_words(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    limits = [{"type": "Container", "max": {"nvidia.com/gpu": "1"}}]
    path = f"/api/v1/namespaces/{scene.namespace}/limitranges"
    scene.api.create(path, {"metadata": {"name": "small"}, "spec": {"limits": limits}})
    job = a_training_job("train", gpus=2)
    refused(scene, job, "maximum nvidia.com/gpu usage per Container is 1")


@pytest.mark.slow
def test_what_an_admission_rule_adds_to_pods_is_found_out_and_reported(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2, cpu="8"))
    limits = [{"type": "Container", "defaultRequest": {"cpu": "16"}, "default": {"cpu": "16"}}]
    path = f"/api/v1/namespaces/{scene.namespace}/limitranges"
    scene.api.create(path, {"metadata": {"name": "greedy"}, "spec": {"limits": limits}})
    job = a_training_job("train")
    scene.apply(job)
    (event,) = scene.events(job, "NodeRefused")
    assert "Insufficient cpu" in event["note"]
    until_gone(scene, job)
    before = scene.operator.metric("plimsoll_api_writes_total", resource="pods")
    other = a_training_job("other", gpus=9)
    scene.apply(other)
    scene.until(other, reason="CannotFit")
    assert scene.operator.metric("plimsoll_api_writes_total", resource="pods") == before


def test_pods_that_kueue_holds_take_nothing_and_those_that_it_has_let_go_count(
    scene: Scene,
) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    admitted = a_gpu_pod("admitted", "node", gpus=1)
    admitted["metadata"]["labels"] = {"kueue.x-k8s.io/managed": "true"}
    scene.apply(admitted)
    held = a_gpu_pod("held", "node", gpus=1)
    del held["spec"]["nodeName"]
    held["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    held["metadata"]["labels"] = {
        "kueue.x-k8s.io/managed": "true",
        "kueue.x-k8s.io/queue-name": "team",
    }
    scene.apply(held)
    path = scene.path("Pod", name_of(held))
    wait_until(
        lambda: scene.api.get(path)["status"].get("conditions"),
        timeout_seconds=SECONDS,
        what="kube-scheduler has seen the gate",
    )
    before = scene.api.get(path)
    job, large = a_training_job("train"), a_training_job("large", gpus=2)
    scene.apply(large)
    status = scene.until(large, reason="CannotFit")
    assert "the most on one node is 1" in status["message"]
    scene.apply(job)
    scene.running(job)
    scene.delete(job)
    until_gone(scene, job)
    assert scene.api.get(path) == before
    assert "deletionTimestamp" not in scene.api.get(scene.path("Pod", "admitted"))["metadata"]


def _bound(scene: Scene) -> Manifest | None:
    path = f"/api/v1/namespaces/{scene.namespace}/pods?labelSelector=app=monitor"
    return next((pod for pod in scene.api.items(path) if pod["spec"].get("nodeName")), None)


def test_pods_of_another_scheduler_and_of_daemons_are_counted_and_left(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    theirs = a_gpu_pod("theirs", "node", gpus=1)
    theirs["spec"]["schedulerName"] = "volcano"
    daemon = a_gpu_pod("daemon", "node", gpus=1)
    scene.apply(theirs)
    daemons = f"/apis/apps/v1/namespaces/{scene.namespace}/daemonsets"
    labels = {"app": "monitor"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": daemon["spec"]["containers"]},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    scene.api.create(daemons, {"metadata": {"name": "monitor"}, "spec": spec})
    daemon = wait_until(lambda: _bound(scene), timeout_seconds=SECONDS, what="the daemon runs")
    large = a_training_job("large", gpus=4, priorityClassName="system-cluster-critical")
    fits = a_training_job("fits", gpus=2)
    scene.apply(large)
    status = scene.until(large, reason="CannotFit")
    assert "the most on one node is 2" in status["message"]
    scene.apply(fits)
    scene.running(fits)
    assert daemon is not None
    for pod in (theirs, daemon):
        there = scene.api.get(scene.path("Pod", name_of(pod)))
        assert "deletionTimestamp" not in there["metadata"]
