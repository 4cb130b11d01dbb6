"""What becomes of a gang: it completes, fails, starts again, stops, resumes, changes its size."""

from datetime import datetime

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_history import PodHistory
from support.clusters.pod_lives import condition, environment, fail, name_of, uids, until_gone, wish
from support.clusters.scene import SECONDS, Scene, conditions
from support.objects.job_manifests import a_training_job


def phase(scene: Scene, pod: Manifest) -> str:
    return scene.api.get(scene.path("Pod", name_of(pod)))["status"]["phase"]


def seconds_between(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def test_a_job_completes_when_all_its_workers_have_succeeded(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=3))
    job, beside, after = (
        a_training_job("train", workers=2),
        a_training_job("beside"),
        a_training_job("after", workers=2),
    )
    scene.apply(job)
    first, second = scene.running(job).pods
    wish(scene, first, run_seconds="0")
    wait_until(
        lambda: phase(scene, first) == "Succeeded", timeout_seconds=SECONDS, what="one succeeds"
    )
    scene.apply(beside)
    scene.running(beside)
    assert "Complete" not in conditions(scene.status(job))
    wish(scene, second, run_seconds="0")
    status = scene.until(job, reason="Completed")
    assert conditions(status) == {"Admitted": "False", "Running": "False", "Complete": "True"}
    assert seconds_between(status["startedTime"], status["finishedTime"]) >= 0
    scene.apply(after)
    scene.running(after)
    assert uids(scene.pods_of(job)) == uids([first, second]), "what it has printed can be read"


@pytest.mark.slow
def test_a_failed_worker_restarts_its_gang_after_growing_pauses_up_to_the_limit(
    scene: Scene,
) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    rules = {"maxRestarts": 2, "backoff": {"initial": "5s", "max": "1m"}}
    job = a_training_job("train", workers=2, faultTolerance=rules)
    scene.apply(job)
    for restarts, seconds in ((1, 5), (2, 10)):
        pods = scene.running(job).pods
        fail(scene, pods[1])
        status = scene.until(job, restarts=restarts)
        assert condition(status, "Running")["reason"] == "Restarting"
        assert "worker 1 on node failed with exit code 1 (Error)" in status["message"]
        assert len(status["restartTimes"]) == restarts
        pause = seconds_between(status["restartTimes"][-1], status["nextRestartTime"])
        assert pause == seconds
        again = scene.running(job).pods
        assert not set(uids(pods).values()) & set(uids(again).values())
        for pod in again:
            created = pod["metadata"]["creationTimestamp"]
            assert seconds_between(status["nextRestartTime"], created) >= 0
    pods = scene.running(job).pods
    waiting = a_training_job("next")
    scene.apply(waiting)
    fail(scene, pods[1])
    status = scene.until(job, reason="BackoffLimitExceeded")
    assert conditions(status) == {"Admitted": "False", "Running": "False", "Failed": "True"}
    assert "worker 1 on node failed with exit code 1 (Error)" in status["message"]
    assert "finishedTime" in status
    scene.running(waiting)
    wait_until(
        lambda: uids(scene.pods_of(job)) == uids([pods[1]]),
        timeout_seconds=SECONDS,
        what="only the pod that failed is left, for its logs",
    )


def test_a_worker_that_is_taken_away_restarts_its_gang_and_does_not_count(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    job = a_training_job("train", workers=2, faultTolerance={"maxRestarts": 0})
    scene.apply(job)
    pods = scene.running(job).pods
    with PodHistory(scene):
        scene.api.delete(scene.path("Pod", name_of(pods[0])))
        scene.until(job, revision=2)
        again = scene.running(job)
    assert not again.uids & set(uids(pods).values())
    assert again.status["restarts"] == 0
    assert "restartTimes" not in again.status
    assert "nextRestartTime" not in again.status


def test_a_suspended_job_gives_up_its_place_and_gets_one_again(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    job, other = a_training_job("train", workers=2), a_training_job("other", workers=2)
    scene.apply(job)
    scene.running(job)
    scene.apply(other)
    scene.until(other, reason="InsufficientGPUs")
    scene.edit(job, {"suspend": True})
    status = scene.until(job, reason="Suspended")
    assert conditions(status) == {"Admitted": "False", "Running": "False"}
    assert "placement" not in status
    until_gone(scene, job)
    scene.running(other)
    scene.edit(job, {"suspend": False})
    scene.until(job, reason="InsufficientGPUs")
    scene.delete(other)
    scene.running(job)


@pytest.mark.slow
def test_a_job_that_is_born_suspended_waits_to_be_resumed(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=1))
    job, other = a_training_job("train", suspend=True), a_training_job("other")
    scene.apply(job)
    scene.until(job, reason="Suspended")
    scene.apply(other)
    scene.running(other)
    assert not scene.pods_of(job)
    scene.delete(other)
    scene.edit(job, {"suspend": False})
    scene.running(job)


def test_a_gang_of_another_size_starts_anew_at_that_size(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    job = a_training_job("train", workers=2)
    scene.apply(job)
    before = scene.running(job).uids
    for size in (3, 1):
        scene.edit(job, {"workers": {"min": size, "max": size}})
        found = scene.running(job)
        assert len(found.pods) == size
        assert found.status["workerCount"] == size
        assert not found.uids & before, "the whole gang starts again"
        assert {environment(pod)["WORLD_SIZE"] for pod in found.pods} == {str(size)}
        before = found.uids
