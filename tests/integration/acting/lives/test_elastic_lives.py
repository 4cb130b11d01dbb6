"""A gang grows, shrinks, moves, gives way and comes back, and does no step twice by it."""

from pathlib import Path

import pytest

from plimsoll_devcluster.fake_nodes import NODES, fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import environment, fail
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import a_policy, a_priority_class, a_training_job
from support.programs import adapting_program
from support.programs.trainers import Trainer

URL = "http://plimsoll-workers.plimsoll-system.svc:8081"
OPERATOR_ENVIRONMENT = {"PLIMSOLL_WORKER_URL": URL}
QUICK = {"saveSeconds": 20, "restoreSeconds": 1}
LINEAR = {"NVIDIA-H100-80GB-HBM3": {1: 10, 4: 40}}
SPOT_NOTICE = "aws-node-termination-handler/spot-itn"


@pytest.fixture
def trainer(scene: Scene, tmp_path: Path) -> Trainer:
    """An elastic job, not applied yet, and its program."""
    work = {"amount": 1_000_000}
    job = a_training_job("elastic", workers=(1, 4), rates=LINEAR, checkpoint=QUICK, work=work)
    return Trainer(scene, job, tmp_path)


def lost(trainer: Trainer) -> tuple[int, str]:
    """The steps that were done twice, and what the status says of them."""
    return trainer.steps_done_twice, trainer.scene.status(trainer.job)["progress"]["lost"]


def workers(trainer: Trainer) -> int:
    return len(trainer.scene.running(trainer.job).pods)


def tainted(scene: Scene, node: str, key: str) -> None:
    scene.node(node, {"spec": {"taints": [{"key": key, "effect": "NoSchedule"}]}})


@pytest.mark.slow
def test_it_grows_into_what_others_leave_and_shrinks_for_who_comes(trainer: Trainer) -> None:
    scene = trainer.scene
    scene.add_nodes(fake_node("node", gpus=4))
    beside = a_training_job("beside", workers=2)
    scene.apply(beside)
    scene.running(beside)
    scene.apply(trainer.job)
    with trainer.training() as pods:
        assert len(pods) == 2
        scene.delete(beside)
    with trainer.training() as pods:
        assert len(pods) == 4
        scene.apply(a_training_job("comes", workers=3))
    with trainer.training() as pods:
        assert len(pods) == 1
        assert lost(trainer) == (0, "0")
        scene.delete(trainer.job)
    assert len(scene.events(trainer.job, "Saving")) >= 1


def test_its_workers_find_the_batch_for_their_number_also_after_it_has_grown(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    beside = a_training_job("beside", workers=2)
    batch = {"size": 12, "maxAccumulation": 4}
    job = a_training_job("elastic", workers=(1, 4), rates=LINEAR, checkpoint=QUICK, batch=batch)
    job["spec"]["accelerators"][0]["maxLocalBatch"] = 3
    scene.apply(beside)
    scene.running(beside)
    scene.apply(job)
    assert batches(scene.running(job).pods) == [(12, 3, 2)] * 2
    scene.delete(beside)
    wait_until(
        lambda: scene.status(job)["placement"]["workers"] == 4,
        timeout_seconds=SECONDS,
        what="it has grown",
    )
    placed = scene.running(job)
    assert placed.status["placement"]["batch"] == {"size": 12, "local": 3, "accumulation": 1}
    assert batches(placed.pods) == [(12, 3, 1)] * 4


def batches(pods: tuple[Manifest, ...]) -> list[tuple[int, ...]]:
    """What each worker finds of its batch: global, local and how often."""
    names = ("PLIMSOLL_GLOBAL_BATCH", "PLIMSOLL_LOCAL_BATCH", "PLIMSOLL_ACCUMULATION")
    return [tuple(int(environment(pod)[name]) for name in names) for pod in pods]


@pytest.mark.slow
def test_its_batch_grows_while_it_trains_and_its_pods_stay(scene: Scene, tmp_path: Path) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    work = {"amount": 10**12, "unit": "samples"}
    batch = {"size": 16, "maxSize": 1024}
    rates = {"NVIDIA-H100-80GB-HBM3": {2: 800}}
    job = a_training_job("adapts", workers=2, rates=rates, work=work, batch=batch)
    trainer = Trainer(scene, job, tmp_path, Path(adapting_program.__file__))
    scene.apply(job)
    with trainer.training() as pods:
        wait_until(
            lambda: trained_with(tmp_path)[-1] > 16,
            timeout_seconds=3 * SECONDS,
            what="it trains with a larger batch",
        )
        status = scene.status(job)
        assert status["placement"]["batch"]["size"] > 16
        assert status["placement"]["revision"] == 1
        assert [pod["metadata"]["uid"] for pod in scene.pods_of(job)] == [
            pod["metadata"]["uid"] for pod in pods
        ]
        scene.delete(job)
    assert len(scene.events(job, "BatchChanged")) >= 1


def trained_with(folder: Path) -> list[int]:
    """The batches of all steps so far."""
    return [int(line.split()[2]) for line in (folder / "steps").read_text().splitlines()]


@pytest.mark.slow
def test_it_leaves_a_node_that_is_taken_back(trainer: Trainer) -> None:
    scene = trainer.scene
    scene.add_nodes(fake_node("node", gpus=4), fake_node("other", gpus=4))
    scene.apply(trainer.job)
    with trainer.training() as pods:
        before = {pod["spec"]["nodeName"] for pod in pods}
        tainted(scene, min(before), SPOT_NOTICE)
    with trainer.training() as pods:
        assert min(before) not in {pod["spec"]["nodeName"] for pod in pods}
        assert lost(trainer) == (0, "0")
        scene.delete(trainer.job)


@pytest.mark.slow
def test_it_gives_way_and_comes_back_to_where_it_was(trainer: Trainer) -> None:
    scene = trainer.scene
    scene.add_nodes(fake_node("node", gpus=4))
    urgent = a_training_job("urgent", workers=4, priorityClassName="high")
    scene.apply(a_priority_class("high", 100), trainer.job)
    with trainer.training():
        scene.apply(urgent)
    status = scene.until(trainer.job, reason="LowerPriority")
    saved = int(status["progress"]["savedDone"])
    scene.running(urgent)
    scene.delete(urgent)
    with trainer.training():
        assert int(scene.status(trainer.job)["progress"]["done"]) >= saved
        assert lost(trainer) == (0, "0")
        scene.delete(trainer.job)


@pytest.mark.slow
def test_it_leaves_a_node_where_the_workers_of_others_fail(trainer: Trainer) -> None:
    """Two jobs fail there three times; then nothing runs there until the taint is gone."""
    scene = trainer.scene
    scene.apply(a_policy(quarantine={"distinctNamespaces": 1}))
    scene.add_nodes(fake_node("node", gpus=8))
    rules = {"maxRestarts": 9, "backoff": {"initial": "1s", "max": "1s"}}
    unlucky = [a_training_job(name, faultTolerance=rules) for name in ("one", "two")]
    scene.apply(trainer.job, *unlucky)
    with trainer.training():
        scene.add_nodes(fake_node("other", gpus=8))
        for job in (unlucky[0], unlucky[0], unlucky[1]):
            failed_once(scene, job)
        wait_until(
            lambda: taints(scene, "node") == ["plimsoll.dev/quarantine"],
            timeout_seconds=SECONDS,
            what="the node is in quarantine",
        )
    with trainer.training() as pods:
        assert {pod["spec"]["nodeName"] for pod in pods} == {"other"}
        assert lost(trainer) == (0, "0")
        scene.delete(trainer.job)


def taints(scene: Scene, node: str) -> list[str]:
    """The keys of a node's taints."""
    found: list[Manifest] = scene.api.get(f"{NODES}/{node}")["spec"].get("taints", [])
    return [taint["key"] for taint in found]


def failed_once(scene: Scene, job: Manifest) -> None:
    """Let the job's worker fail, and wait until it runs again."""
    restarts = scene.status(job).get("restarts", 0)
    [pod] = scene.running(job).pods
    fail(scene, pod)
    scene.until(job, restarts=restarts + 1)
    scene.running(job)
