"""A gang that really trains is resized, killed, driven out, and comes out as if it had not been."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from harness.deployed_operator import DeployedOperator
from harness.gpu_nodes import Nodes, borrowed
from harness.real_cluster import PATIENCE_SECONDS, RealCluster
from harness.release import Release
from harness.scenes import open_scene
from harness.training_run import SAVE_EVERY, STEPS, Start, TrainingRun, a_training_run, an_example
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene

KILL_TRAINING = """
import os, pathlib, signal
for process in pathlib.Path("/proc").glob("[0-9]*"):
    if process.name not in ("1", str(os.getpid())):
        if b"train.py" in (process / "cmdline").read_bytes():
            os.kill(int(process.name), signal.SIGKILL)
"""
SIZES = (2, 3, 1, 2)
SPOT = {"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule", "value": "e2e"}


@dataclass(frozen=True, slots=True)
class Runs:
    """Two runs of one training; starts, status and the events' reasons are the disturbed one's."""

    disturbed: TrainingRun
    undisturbed: TrainingRun
    killed: Start
    noticed: tuple[Start, ...]
    status: Manifest
    reasons: frozenset[str]


@pytest.fixture(scope="module")
def runs(
    cluster: RealCluster, release: Release, nodes: tuple[str, str], trainer: str
) -> Iterator[Runs]:
    """Both runs, when they are complete."""
    if cluster.shared is None:
        pytest.skip("PLIMSOLL_SHARED_FOLDER names no folder that the given cluster's nodes see")
    operator = DeployedOperator(ApiServer(release.kubeconfig))
    with borrowed(cluster.api, nodes) as gpu_nodes, open_scene(cluster.api) as scene:
        gpu_nodes.offer(4, 4)
        disturbed, undisturbed = (
            a_training_run(
                name, workers=2, shared=cluster.shared, image=trainer, step_seconds=seconds
            )
            for name, seconds in (("disturbed", 0.1), ("undisturbed", 0))
        )
        scene.apply(disturbed.job, undisturbed.job)
        starts = list(resized(scene, disturbed))
        killed = kill_a_worker(scene, disturbed, cluster)
        starts.append(take_the_node_back(scene, disturbed))
        starts.append(crash_amid_a_resize(scene, disturbed, cluster, operator))
        scene.until(undisturbed.job, reason="Completed")
        status = scene.until(disturbed.job, reason="Completed")
        assert scene.events(disturbed.job, "Completed")
        reasons = frozenset(event["reason"] for event in scene.all_events(disturbed.job))
        yield Runs(disturbed, undisturbed, killed, tuple(starts), status, reasons)


def resized(scene: Scene, run: TrainingRun) -> Iterator[Start]:
    run.goes_on(starts=1)
    for number, size in enumerate(SIZES[1:], start=2):
        scene.edit(run.job, {"workers": {"min": size, "max": size}})
        yield run.goes_on(starts=number)


def kill_a_worker(scene: Scene, run: TrainingRun, cluster: RealCluster) -> Start:
    victim = scene.running(run.job).pods[1]["metadata"]["name"]
    inside = ("exec", victim, f"--namespace={scene.namespace}", "--", "python3", "-c")
    cluster.kubectl(*inside, KILL_TRAINING)
    start = run.goes_on(starts=len(SIZES) + 1)
    assert scene.status(run.job)["restarts"] == 1
    return start


def take_the_node_back(scene: Scene, run: TrainingRun) -> Start:
    before = set(scene.running(run.job).nodes)
    (node,) = before
    scene.node(node, {"spec": {"taints": [SPOT]}})
    start = run.goes_on(starts=len(SIZES) + 2)
    assert not before & set(scene.running(run.job).nodes)
    scene.node(node, {"spec": {"taints": None}})
    return start


def crash_amid_a_resize(
    scene: Scene, run: TrainingRun, cluster: RealCluster, operator: DeployedOperator
) -> Start:
    leader = operator.leader()
    revision = scene.status(run.job)["revision"]
    scene.edit(run.job, {"workers": {"min": 3, "max": 3}})
    wait_until(
        lambda: scene.status(run.job)["revision"] > revision,
        timeout_seconds=PATIENCE_SECONDS,
        what="the resize has begun",
    )
    cluster.crash(leader)
    return run.goes_on(starts=len(SIZES) + 3)


def test_the_gang_trains_at_each_size_that_it_is_given(runs: Runs) -> None:
    sizes = [start.workers for start in runs.disturbed.starts]
    assert sizes == [*SIZES, 2, 2, 3]


def test_no_step_is_done_twice_after_a_disturbance_that_was_announced(runs: Runs) -> None:
    assert len(runs.noticed) == len(SIZES) + 1
    for start in runs.noticed:
        assert start.step == start.done_before == start.saved_before


def test_after_a_killed_worker_training_goes_on_from_the_last_checkpoint(runs: Runs) -> None:
    assert runs.killed.step == runs.killed.saved_before
    assert runs.killed.done_before - runs.killed.step < SAVE_EVERY + 1


def test_each_step_has_the_loss_that_it_has_in_an_undisturbed_run(runs: Runs) -> None:
    expected = dict(runs.undisturbed.losses)
    assert list(expected) == list(range(1, STEPS + 1))
    losses = runs.disturbed.losses
    assert set(runs.disturbed.steps) == set(expected)
    assert [loss for _, loss in losses] == pytest.approx([expected[step] for step, _ in losses])


def test_the_parameters_come_out_as_those_of_an_undisturbed_run(runs: Runs) -> None:
    assert runs.disturbed.parameters == pytest.approx(runs.undisturbed.parameters, rel=1e-6)
    assert len(runs.undisturbed.parameters) > 100


def test_the_status_says_how_far_it_came_and_what_was_lost_by_the_way(runs: Runs) -> None:
    progress = runs.status["progress"]
    assert (int(progress["done"]), int(progress["savedDone"])) == (STEPS, STEPS), progress
    assert progress["percent"] == 100
    # Of what the killed gang did after its last report nobody knows that it is lost.
    assert int(progress["lost"]) <= runs.killed.done_before - runs.killed.step, progress


def test_every_disturbance_is_recorded_in_events(runs: Runs) -> None:
    expected = {"Admitted", "Resized", "Saving", "Restarting", "NodeLeft", "Completed"}
    assert expected <= runs.reasons


@pytest.mark.parametrize(
    ("workers", "command"),
    [
        (2, ("torchrun", "/app/ddp.py", "--steps=40", "--checkpoints=/checkpoints")),
        (1, ("sh", "/app/sigterm.sh", "40", "/checkpoints")),
    ],
    ids=["data-parallel", "any program"],
)
def test_the_training_examples_run_to_their_end(
    scene: Scene, gpu_nodes: Nodes, trainer: str, workers: int, command: tuple[str, ...]
) -> None:
    gpu_nodes.offer(1, 1)
    job = an_example("example", workers=workers, image=trainer, command=command)
    scene.apply(job)
    scene.until(job, reason="Completed")
    first, *_ = scene.pods_of(job)
    log = scene.api.text(f"{scene.path('Pod', first['metadata']['name'])}/log")
    assert "saved at step 40" in log
