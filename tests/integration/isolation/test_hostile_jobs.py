"""Somebody who may make jobs in a namespace tries what they may not, and to harm others."""

import re
from typing import Any

import pytest

from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene
from support.objects.hostile_jobs import REFUSED, TAKEN, named
from support.objects.job_manifests import a_queue, a_template, a_training_job
from support.objects.manifests import Manifest

RESTRICTED = "pod-security.kubernetes.io/enforce"
HARDENED: dict[str, Any] = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
PLURALS = {"TrainingJob": "trainingjobs", "InferenceJob": "inferencejobs"}
GREEDY = {
    "privileged": a_template(
        containers=[{"name": "main", "image": "x", "securityContext": {"privileged": True}}]
    ),
    "the node's files": a_template(volumes=[{"name": "root", "hostPath": {"path": "/"}}]),
    "the node's network": a_template(hostNetwork=True),
    "the node's processes": a_template(hostPID=True),
    "nothing of this": a_template(),
}


def jobs(namespace: str, kind: str) -> str:
    return f"/apis/plimsoll.dev/v1alpha1/namespaces/{namespace}/{PLURALS[kind]}"


def label(api: ApiServer, namespace: str, **labels: str | None) -> None:
    api.merge(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": labels}})


@pytest.mark.parametrize("job", REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_meant_is_refused(control_plane: Cluster, job: Manifest) -> None:
    with pytest.raises(ApiServerRefusedError) as refusal:
        control_plane.api.create(jobs("default", job["kind"]), job)
    assert 400 <= refusal.value.status < 500 or "too large" in str(refusal.value)


def test_odd_jobs_harm_no_others(scene: Scene) -> None:
    scene.add_nodes(*(fake_node(f"node-{number}", gpus=8) for number in range(8)))
    odd = [named(name) for name in TAKEN]
    for job in odd:
        scene.api.create(jobs(scene.namespace, job["kind"]), job)
    for job in odd:
        wait_until(
            lambda job=job: scene.status(job).get("reason"),
            timeout_seconds=scene.patience_seconds,
            what=f"something is said of {job['metadata']['name']}",
        )
    plain = a_training_job("plain")
    scene.apply(plain)
    scene.running(plain)
    assert scene.operator.metric("plimsoll_loop_errors_total") == 0
    assert not [line for line in scene.operator.log_lines() if "exception" in line]


@pytest.mark.parametrize("template", GREEDY.values(), ids=GREEDY.keys())
def test_what_a_namespace_forbids_its_pods_no_job_may_have(
    scene: Scene, template: Manifest
) -> None:
    scene.add_nodes(fake_node("node", gpus=1))
    label(scene.api, scene.namespace, **{RESTRICTED: "restricted"})
    greedy = a_training_job("greedy", template=template)
    scene.apply(greedy)
    message = scene.until(greedy, reason="PodRefused")["message"]
    # API servers may also forbid privileged pods everywhere, and say so first.
    assert re.search("violates PodSecurity|privileged: Forbidden", message)
    assert not scene.pods_of(greedy)
    container = {"name": "main", "image": "x", "securityContext": HARDENED}
    modest = a_training_job("modest", template=a_template(containers=[container]))
    scene.apply(modest)
    scene.running(modest)


def test_a_queue_takes_jobs_of_the_namespaces_that_it_selects_only(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=1))
    scene.apply(a_queue("vision", namespaceSelector={"matchLabels": {"team": "vision"}}))
    job = a_training_job("train", queue="vision")
    scene.apply(job)
    held = scene.until(job, reason="QueueNotAllowed")
    assert f"takes no jobs of namespace {scene.namespace}" in held["message"]
    label(scene.api, scene.namespace, team="vision")
    running = scene.running(job).uids
    label(scene.api, scene.namespace, team=None)
    later = a_training_job("later", queue="vision")
    scene.apply(later)
    scene.until(later, reason="QueueNotAllowed")
    assert scene.running(job).uids == running


def a_forged_worker(worker: Manifest, name: str) -> Manifest:
    """A pod with the labels of another tenant's worker, which asks for its node's GPUs."""
    labels, affinity = worker["metadata"]["labels"], worker["spec"]["affinity"]
    limits = {"nvidia.com/gpu": "4"}
    container = {"name": "main", "image": "none", "resources": {"limits": limits}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "containers": [container],
            "affinity": affinity,
            "schedulingGates": [{"name": "example.com/for-ever"}],
        },
    }


def test_pods_with_the_labels_of_anothers_workers_harm_and_hold_nothing(
    scene: Scene, hostile: Scene
) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    gang = a_training_job("gang", workers=2)
    scene.apply(gang)
    before = scene.running(gang)
    failed = a_forged_worker(before.pods[0], "failed")
    hostile.apply(failed, a_forged_worker(before.pods[1], "waits"))
    path = f"{hostile.path('Pod', 'failed')}/status"
    hostile.api.merge(path, {"status": {"phase": "Failed"}})
    beside = a_training_job("beside", gpus=2)
    scene.apply(beside)
    scene.running(beside)
    assert scene.running(gang).uids == before.uids
    assert "Restarting" not in {event["reason"] for event in scene.all_events(gang)}
    assert hostile.api.exists(hostile.path("Pod", "failed")), "it is not ours to delete"


def test_who_may_not_be_urgent_takes_nobodys_place(scene: Scene, hostile: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=1))
    urgent = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 1000,
    }
    scene.apply(urgent, a_queue("shared", priorityClassNames=["batch"]))
    victim = a_training_job("victim")
    scene.apply(victim)
    before = scene.running(victim).uids
    greedy = a_training_job("greedy", queue="shared", priorityClassName="urgent")
    hostile.apply(greedy)
    held = hostile.until(greedy, reason="PriorityNotAllowed")
    assert "queue shared allows its jobs no PriorityClass urgent, only batch" in held["message"]
    modest = a_training_job("modest", queue="shared")
    hostile.apply(modest)
    hostile.until(modest, reason="InsufficientGPUs")
    assert scene.running(victim).uids == before
    scene.apply(a_queue("shared", priorityClassNames=["urgent"]))
    hostile.running(greedy)
    (event,) = scene.events(victim, "Preempted")
    assert event["note"].startswith(f"makes room for TrainingJob/{hostile.namespace}/greedy")
