"""What changes in the cluster is seen and acted on: nodes, what jobs name, the API server."""

from datetime import UTC, datetime, timedelta

import pytest

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import NODES, fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import (
    a_pool,
    a_priority_class,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
)

BLUE = a_template(nodeSelector={"colour": "blue"})
TAINT = {"key": "dedicated", "value": "others", "effect": "NoSchedule"}


def test_nodes_that_come_change_and_go_are_seen(scene: Scene) -> None:
    job = a_training_job("job", template=BLUE)
    scene.apply(job)
    scene.until(job, reason="CannotFit")
    scene.add_nodes(fake_node("plain", taints=[TAINT]))
    scene.until(job, reason="NoEligibleNode")
    scene.node("plain", {"metadata": {"labels": {"colour": "blue"}}})
    scene.node("plain", {"spec": {"taints": []}})
    assert scene.running(job).nodes == ["plain"]
    scene.add_nodes(fake_node("blue", labels={"colour": "blue"}))
    scene.api.delete(f"{NODES}/plain")
    scene.until(job, nodesSummary="blue")  # Kubernetes itself takes its pod away a minute later
    [event] = scene.events(job, "NodeLeft")
    assert event["note"] == "left plain (gone), now NVIDIA-H100-80GB-HBM3 on blue"


def test_gpus_that_a_node_gets_or_loses_are_seen(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", H100, 1))
    job = a_training_job("job", gpus=2)
    scene.apply(job)
    scene.until(job, reason="CannotFit")
    more = {"nvidia.com/gpu": "2"}
    scene.api.merge(f"{NODES}/node/status", {"status": {"capacity": more, "allocatable": more}})
    scene.running(job)


def test_what_a_job_names_may_come_after_it(scene: Scene) -> None:
    scene.add_nodes(fake_node("node"))
    job = a_training_job("job", queue="later", priorityClassName="later")
    scene.apply(job)
    status = scene.until(job, reason="PriorityClassNotFound")
    assert status["message"].startswith("there is no PriorityClass later: create it")
    scene.apply(a_priority_class("later", 5))
    scene.until(job, reason="QueueNotFound")
    scene.apply(a_queue("later"))
    before = scene.running(job)
    scene.delete(a_queue("later"), a_priority_class("later", 5))
    other = a_training_job("other")
    scene.apply(other)
    scene.running(other)
    assert scene.running(job).uids == before.uids


def not_ready(since: timedelta) -> Manifest:
    at = (datetime.now(UTC) - since).strftime("%Y-%m-%dT%H:%M:%SZ")
    said = {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "down"}
    return {"status": {"conditions": [{**said, "lastTransitionTime": at}]}}


@pytest.mark.slow
def test_a_node_that_is_not_ready_takes_nothing_new_and_is_left_after_a_while(
    scene: Scene,
) -> None:
    scene.add_nodes(fake_node("a-ailing", H100, 2), fake_node("b-well", H100, 2))
    job = a_training_job("job")
    scene.apply(job)
    before = scene.running(job)
    assert before.nodes == ["a-ailing"]
    left_to_the_test = {"annotations": {"plimsoll.dev/test-ready": "False"}}
    scene.node("a-ailing", {"metadata": left_to_the_test})
    scene.api.merge(f"{NODES}/a-ailing/status", not_ready(timedelta(seconds=30)))
    scene.apply(a_pool("all", {"type": "kwok"}))
    scene.until(a_pool("all", {}), nodes=2, nodesReady=1)
    other = a_training_job("other")
    scene.apply(other)
    assert scene.running(other).nodes == ["b-well"]
    assert scene.running(job).uids == before.uids
    scene.api.merge(f"{NODES}/a-ailing/status", not_ready(timedelta(minutes=10)))
    scene.until(job, nodesSummary="b-well")
    assert scene.running(job).nodes == ["b-well"]
    [event] = scene.events(job, "NodeUnreachable")
    assert event["note"].startswith("job-worker-0 may still run on a-ailing"), "it was waited for"


@pytest.mark.slow
def test_all_goes_on_after_the_api_server_was_lost(scene: Scene, control_plane: Cluster) -> None:
    scene.add_nodes(fake_node("first", H100, 2))
    kept, gone = an_inference_job("kept"), a_training_job("gone")
    waits = a_training_job("waits")
    scene.apply(kept, gone)
    before = scene.running(kept).uids
    scene.running(gone)
    scene.apply(waits)
    scene.until(waits, reason="InsufficientGPUs")
    control_plane.restart_api_server()
    scene.delete(gone)
    scene.running(waits)
    more = a_training_job("more", gpus=2)
    scene.apply(more)
    scene.until(more, reason="InsufficientGPUs")
    scene.add_nodes(fake_node("second", H100, 2))
    assert scene.running(more).nodes == ["second"]
    assert scene.running(kept).uids == before
    wait_until(
        lambda: scene.operator.probe("/readyz") == (200, "ok"),
        timeout_seconds=SECONDS,
        what="the operator is ready again",
    )
    assert scene.operator.metric("plimsoll_loop_errors_total") == 0
