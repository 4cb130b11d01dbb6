"""Jobs whose nodes are drained or die go on elsewhere."""

from datetime import UTC, datetime, timedelta

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import name_of, uids
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import a_template, a_training_job, an_inference_job


def until_on(scene: Scene, job: Manifest, node: str) -> None:
    """Wait until a job runs on a node."""
    wait_until(
        lambda: {pod["spec"].get("nodeName") for pod in scene.pods_of(job)} == {node},
        timeout_seconds=SECONDS,
        what=f"{name_of(job)} is on {node}",
    )
    assert set(scene.running(job).nodes) == {node}


def test_what_is_drained_from_a_node_goes_on_elsewhere_soon(scene: Scene) -> None:
    scene.add_nodes(fake_node("leaves", gpus=3))
    jobs = a_training_job("train", workers=2), an_inference_job("serve")
    scene.apply(*jobs)
    pods = [scene.running(job).pods[0] for job in jobs]
    scene.add_nodes(fake_node("stays", gpus=3))
    scene.node("leaves", {"spec": {"unschedulable": True}})
    for pod in pods:
        metadata = {"name": name_of(pod), "namespace": scene.namespace}
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        scene.api.create(f"{scene.path('Pod', name_of(pod))}/eviction", eviction)
    for job in jobs:
        until_on(scene, job, "stays")
        (event,) = scene.events(job, "NodeLeft")
        assert event["note"].startswith("left leaves (Cordoned), now ")
        said = {each["reason"] for each in scene.all_events(job)}
        assert "NodeRefused" not in said, "it was not tried again on the cordoned node"


def dies(scene: Scene, node: str) -> None:
    """Let a node have been silent for so long that nobody waits for it any more.

    No other test may have a node of that name: pods on a new node of a name that has just been
    silent are seen to stay pending or not ready, as if it were still the old one.
    """
    long_ago = (datetime.now(UTC) - timedelta(minutes=10)).isoformat(timespec="seconds")
    scene.node(node, {"metadata": {"annotations": {"plimsoll.dev/test-ready": "False"}}})
    conditions = scene.api.get(f"/api/v1/nodes/{node}")["status"]["conditions"]
    for each in conditions:
        if each["type"] == "Ready":
            each |= {"status": "Unknown", "lastTransitionTime": long_ago.replace("+00:00", "Z")}
    scene.api.merge(f"/api/v1/nodes/{node}/status", {"status": {"conditions": conditions}})


@pytest.mark.slow
def test_what_a_dead_node_never_ends_is_removed_and_runs_elsewhere(scene: Scene) -> None:
    scene.add_nodes(fake_node("dies", gpus=3))
    never = a_template(wishes={"hold-deletion-seconds": "3600"})
    never["spec"]["terminationGracePeriodSeconds"] = 1
    job = an_inference_job("serve", replicas=2, template=never)
    scene.apply(job)
    scene.running(job)
    scene.add_nodes(fake_node("lives", gpus=3))
    dies(scene, "dies")
    until_on(scene, job, "lives")


@pytest.mark.slow
def test_a_gang_starts_elsewhere_only_once_its_workers_are_known_to_be_gone(scene: Scene) -> None:
    scene.add_nodes(fake_node("silent", gpus=2))
    stays = {"hold-deletion-seconds": "3600"}
    # Their grace is 30 s, and 40 s: when the replica is given up, the worker would have been, too.
    gang = a_training_job("train", template=a_template(wishes=stays), checkpoint={"saveSeconds": 0})
    later = a_template(wishes=stays, terminationGracePeriodSeconds=40)
    service = an_inference_job("serve", template=later)
    scene.apply(gang, service)
    (worker,) = scene.running(gang).pods
    scene.running(service)
    scene.add_nodes(fake_node("lives", gpus=2))
    dies(scene, "silent")
    status = scene.until(gang, reason="NodeUnreachable")
    assert "train-worker-0 may still run on silent, which does not answer" in status["message"]
    assert "placement" not in status, "its GPUs elsewhere are for others"
    until_on(scene, service, "lives")
    assert uids(scene.pods_of(gang)) == uids([worker])
    scene.until(gang, reason="NodeUnreachable")
    taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
    there = scene.api.get("/api/v1/nodes/silent")["spec"].get("taints", [])
    scene.node("silent", {"spec": {"taints": [*there, taint]}})
    until_on(scene, gang, "lives")
