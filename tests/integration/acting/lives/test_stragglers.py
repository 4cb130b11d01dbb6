"""A worker much slower than its gang is reported, and the gang leaves its node if it can."""

from pathlib import Path

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import condition, uids
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import a_policy, a_training_job
from support.programs.trainers import Trainer

URL = "http://plimsoll-workers.plimsoll-system.svc:8081"
OPERATOR_ENVIRONMENT = {"PLIMSOLL_WORKER_URL": URL}
QUICK = {"interval": "1s", "saveSeconds": 20, "restoreSeconds": 1}
SOON = a_policy(stragglers={"after": "3s", "slowerPercent": 100})


@pytest.fixture
def trainer(scene: Scene, tmp_path: Path) -> Trainer:
    """A gang of three, not applied yet, and its programs."""
    job = a_training_job("gang", workers=3, checkpoint=QUICK, work={"amount": 1_000_000})
    scene.apply(SOON)
    return Trainer(scene, job, tmp_path)


def with_nodes(scene: Scene, *names: str) -> None:
    scene.add_nodes(*(fake_node(name, gpus=1) for name in names))


def nodes_of(pods: tuple[Manifest, ...]) -> list[str]:
    return [pod["spec"]["nodeName"] for pod in pods]


@pytest.mark.slow
def test_a_gang_leaves_the_node_of_its_straggler_and_does_no_step_twice(trainer: Trainer) -> None:
    scene = trainer.scene
    with_nodes(scene, "a", "b", "c", "d")
    scene.apply(trainer.job)
    with trainer.training(slow=1) as pods:
        slow_node = nodes_of(pods)[1]
    with trainer.training() as pods:
        assert slow_node not in nodes_of(pods)
        status = scene.status(trainer.job)
        assert [each["node"] for each in status["replacedWorkers"]] == [slow_node]
        assert condition(status, "Degraded")["status"] == "False"
        assert (trainer.steps_done_twice, status["progress"]["lost"]) == (0, "0")
        [said] = scene.events(trainer.job, "StragglerReplaced")
        assert said["note"].startswith(f"worker 1 on {slow_node} computes")
        scene.delete(trainer.job)


@pytest.mark.slow
def test_without_another_place_it_stays_and_says_so_until_there_is_one(trainer: Trainer) -> None:
    scene = trainer.scene
    with_nodes(scene, "a", "b", "c")
    scene.apply(trainer.job)
    with trainer.training(slow=1) as pods:
        slow_node = nodes_of(pods)[1]
        [event] = scene.events(trainer.job, "StragglerFound")
        assert event["note"].startswith(f"worker 1 on {slow_node} computes")
        degraded = condition(scene.status(trainer.job), "Degraded")
        assert (degraded["status"], degraded["reason"]) == ("True", "StragglerFound")
        trains_on(trainer)
        assert uids(scene.pods_of(trainer.job)) == uids(pods)
        with_nodes(scene, "d")
    assert "d" in nodes_of(scene.running(trainer.job).pods)
    assert trainer.steps_done_twice == 0


def trains_on(trainer: Trainer) -> None:
    """Wait until what is done has been reported several times since now."""

    def done() -> int:
        return int(trainer.scene.status(trainer.job)["progress"]["done"])

    enough = done() + 200
    wait_until(lambda: done() >= enough, timeout_seconds=SECONDS, what="it trains on")
