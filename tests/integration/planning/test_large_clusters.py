"""A small change of a large cluster is answered at once; then the whole is searched."""

from collections.abc import Iterator

import pytest

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from support.clusters.scene import Scene
from support.objects.job_manifests import a_training_job


@pytest.fixture(scope="module")
def operator(control_plane: Cluster) -> Iterator[OperatorProcess]:
    """One for which every cluster is large."""
    environment = {"PLIMSOLL_LARGE_CLUSTER": "0"}
    with OperatorProcess(control_plane.kubeconfig, environment) as process:
        yield process
        assert process.stop() == 0


def outcomes(scene: Scene) -> list[tuple[object, object]]:
    """How the operator's plans so far were found, and how many changes each made."""
    lines = [line for line in scene.operator.log_lines() if line.get("event") == "planned"]
    return [(line["outcome"], line["changes"]) for line in lines]


def test_room_is_made_by_moving_once_the_whole_was_searched(scene: Scene) -> None:
    """Two nodes half free have room for a whole one's pod only if somebody moves."""
    scene.add_nodes(fake_node("a", gpus=4), fake_node("b", gpus=4))
    first, gone, last = (a_training_job(name, gpus=2) for name in ("first", "gone", "last"))
    for job in (first, gone, last):
        scene.apply(job)
        scene.running(job)
    wide = a_training_job("wide", gpus=4)
    scene.apply(wide)
    scene.until(wide, reason="InsufficientGPUs")
    before = len(outcomes(scene))
    scene.edit(gone, {"suspend": True})
    scene.running(wide)
    assert scene.running(first).nodes == scene.running(last).nodes
    # Improved: what the search found was carried over to what had changed meanwhile.
    ((outcome, changes),) = (pair for pair in outcomes(scene)[before:] if pair[1])
    assert outcome in ("Optimal", "Improved")
    assert changes == 2
    assert outcomes(scene)[before] == ("Greedy", 0)
