"""What becomes of a gang of several roles: all start or none, and all go when it is done."""

from typing import Any

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import environment, fail, name_of, until_gone, wish
from support.clusters.scene import SECONDS, Scene, conditions
from support.objects.job_manifests import a_priority_class, a_template, a_training_job

GPU_TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}


def a_role(name: str, *, cpu: str = "2", **fields: Any) -> Manifest:  # noqa: ANN401
    return {"name": name, "template": a_template({"cpu": cpu}), **fields}


def a_gang(name: str, *, workers: int | tuple[int, int] = 2, **spec: Any) -> Manifest:  # noqa: ANN401
    """Workers of four GPUs, with a launcher, and a data loader for each worker."""
    most = workers if isinstance(workers, int) else workers[1]
    least = workers if isinstance(workers, int) else workers[0]
    loaders = a_role("loader", replicas={"min": least, "max": most})
    rates = {H100: {least: least, most: most} if least < most else least}
    return a_training_job(
        name,
        workers=workers,
        gpus=4,
        rates=rates,
        roles=[a_role("launcher"), loaders],
        successPolicy={"role": "launcher"},
        **spec,
    )


def add_nodes(scene: Scene, *, cpu: str = "8") -> None:
    """A node with GPUs that pods without keep off, and one without."""
    scene.add_nodes(
        fake_node("gpu", H100, 8, taints=[GPU_TAINT]), fake_node("cpu", gpus=0, cpu=cpu)
    )


def named(pods: tuple[Manifest, ...], part: str) -> list[Manifest]:
    return [pod for pod in pods if f"-{part}-" in name_of(pod)]


def test_it_runs_and_is_done_when_its_launcher_is(scene: Scene) -> None:
    add_nodes(scene)
    job = a_gang("train")
    scene.apply(job)
    found = scene.running(job)
    assert sorted(map(name_of, found.pods)) == [
        "train-launcher-0",
        "train-loader-0",
        "train-loader-1",
        "train-worker-0",
        "train-worker-1",
    ]
    assert {pod["spec"]["nodeName"] for pod in named(found.pods, "worker")} == {"gpu"}
    [launcher] = named(found.pods, "launcher")
    assert launcher["spec"]["nodeName"] == "cpu"
    assert launcher["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "2"}}
    assert environment(launcher)["MASTER_ADDR"] == "train-worker-0.train"
    assert found.status["workerCount"] == 2
    for worker in named(found.pods, "worker"):
        wish(scene, worker, run_seconds="0")
    wait_until(
        lambda: (
            {pod["status"]["phase"] for pod in scene.pods_of(job) if "-worker-" in name_of(pod)}
            == {"Succeeded"}
        ),
        timeout_seconds=SECONDS,
        what="the workers succeed",
    )
    assert "Complete" not in conditions(scene.status(job))
    wish(scene, launcher, run_seconds="0")
    status = scene.until(job, reason="Completed")
    assert conditions(status) == {"Admitted": "False", "Running": "False", "Complete": "True"}
    wait_until(
        lambda: not any("-loader-" in name_of(pod) for pod in scene.pods_of(job)),
        timeout_seconds=SECONDS,
        what="what had nothing left to do is gone",
    )


def test_none_starts_while_one_role_has_no_room(scene: Scene) -> None:
    add_nodes(scene, cpu="5")
    job = a_gang("train")
    scene.apply(job)
    status = scene.until(job, reason="InsufficientResources")
    assert status["message"] == (
        "role loader needs 2 pods with 2 CPU each; "
        "there are CPU, memory and pod slots for 1 of 2 pods"
    )
    assert not scene.pods_of(job)
    scene.add_nodes(fake_node("more", gpus=0, cpu="8"))
    assert len(scene.running(job).pods) == 5


def test_it_gives_way_and_comes_back_whole(scene: Scene) -> None:
    add_nodes(scene)
    scene.apply(a_priority_class("urgent", 1000))
    job = a_gang("train")
    scene.apply(job)
    before = scene.running(job).uids
    urgent = a_training_job("urgent", workers=1, gpus=8, priorityClassName="urgent")
    scene.apply(urgent)
    scene.until(job, reason="LowerPriority")
    until_gone(scene, job)
    scene.running(urgent)
    scene.delete(urgent)
    again = scene.running(job)
    assert len(again.pods) == 5
    assert not again.uids & before


@pytest.mark.slow
def test_if_a_loader_fails_all_start_again(scene: Scene) -> None:
    add_nodes(scene)
    job = a_gang("train", faultTolerance={"backoff": {"initial": "1s", "max": "1s"}})
    scene.apply(job)
    pods = scene.running(job).pods
    fail(scene, named(pods, "loader")[1])
    status = scene.until(job, restarts=1)
    assert "loader 1 on cpu failed with exit code 1 (Error)" in status["message"]
    again = scene.running(job)
    assert len(again.pods) == 5
    assert not again.uids & {pod["metadata"]["uid"] for pod in pods}


@pytest.mark.slow
def test_loaders_come_and_go_with_the_workers(scene: Scene) -> None:
    add_nodes(scene)
    other = a_training_job("other", workers=1, gpus=4)
    scene.apply(other)
    scene.running(other)
    job = a_gang("train", workers=(1, 2))
    scene.apply(job)
    assert len(scene.running(job).pods) == 3
    scene.delete(other)
    scene.until(job, workerCount=2)
    found = scene.running(job)
    assert len(named(found.pods, "loader")) == 2
    assert len(found.pods) == 5


@pytest.mark.slow
def test_its_roles_change_only_while_it_is_suspended(scene: Scene) -> None:
    add_nodes(scene)
    job = a_gang("train")
    scene.apply(job)
    scene.running(job)
    scene.edit(job, {"suspend": True})
    until_gone(scene, job)
    scene.edit(job, {"roles": [a_role("launcher")], "suspend": False})
    assert len(scene.running(job).pods) == 3
