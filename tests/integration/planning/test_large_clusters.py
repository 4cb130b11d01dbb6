"""A small change of a large cluster is answered at once; then the whole is searched."""

from collections.abc import Iterator

import pytest

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.short_lives import forked_operator
from support.clusters.scene import Scene
from support.objects.job_manifests import a_template, a_training_job

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def operator(control_plane: Cluster) -> Iterator[OperatorProcess]:
    """One for which every cluster is large."""
    environment = {"PLIMSOLL_LARGE_CLUSTER": "0"}
    with forked_operator(control_plane.kubeconfig, environment) as process:
        yield process
        assert process.stop() == 0


def outcomes(scene: Scene) -> list[tuple[object, object]]:
    """How the operator's plans so far were found, and how many changes each made."""
    lines = [line for line in scene.operator.log_lines() if line.get("event") == "planned"]
    return [(line["outcome"], line["changes"]) for line in lines]


def bound(name: str, *, to: str, gpus: int = 2) -> Manifest:
    """A job that may run only on nodes with this label."""
    return a_training_job(name, gpus=gpus, template=a_template(nodeSelector={to: "true"}))


def test_room_is_made_by_moving_at_once(scene: Scene) -> None:
    """Two nodes half free have room for a whole one's pod only if somebody moves."""
    scene.add_nodes(fake_node("a", gpus=4), fake_node("b", gpus=4))
    first, gone, last = (a_training_job(name, gpus=2) for name in ("first", "gone", "last"))
    for job in (first, gone, last):
        scene.apply(job)
        scene.running(job)
    wide = a_training_job("wide", gpus=4)
    scene.apply(wide)
    scene.until(wide, reason="InsufficientGPUs")
    scene.edit(gone, {"suspend": True})
    scene.running(wide)
    assert scene.running(first).nodes == scene.running(last).nodes


def test_room_that_only_a_search_finds_is_made_once_the_whole_was_searched(scene: Scene) -> None:
    """Three have to yield in turn: on a for the wide one, on b and on c for the one before."""
    labels = ("on-c", "c-or-d"), ("on-b", "b-or-c"), ("a-or-b", "on-a"), ("on-d",)
    jobs: dict[str, Manifest] = {}
    for name, own in zip("cbad", labels, strict=True):
        near = {each: "true" for part in labels for each in part if name in each.split("-")}
        scene.add_nodes(fake_node(name, gpus=4, labels=near))
        for number in range(2):
            label = own[number % len(own)]
            jobs[f"{name}{number}"] = job = bound(f"{name}{number}", to=label)
            if name == "a" and number:
                continue
            scene.apply(job)
            scene.running(job)
    wide = bound("wide", to="on-a", gpus=4)
    scene.apply(wide)
    scene.until(wide, reason="InsufficientGPUs")
    before = len(outcomes(scene))
    scene.edit(jobs["d0"], {"suspend": True})
    scene.running(wide)
    found = [scene.running(jobs[name]).nodes for name in ("a0", "b1", "c1")]
    assert found == [["b"], ["c"], ["d"]]
    # Improved: what the search found was carried over to what had changed meanwhile.
    ((outcome, changes),) = (pair for pair in outcomes(scene)[before:] if pair[1])
    assert outcome in ("Optimal", "Improved")
    assert changes == 4
