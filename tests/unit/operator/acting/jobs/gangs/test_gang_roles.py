"""A gang of several roles: its pods, how it restarts, and when it is done."""

from datetime import timedelta
from typing import Any

import pytest

from plimsoll.acting.jobs.gangs.training import training_step
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.api.parts.conditions import is_true
from plimsoll.api.training_job import TrainingJobStatus
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, pods_of, seen
from support.objects.job_manifests import a_template, a_training_job

STARTED = (NOW - timedelta(minutes=5)).isoformat()
URL = "http://plimsoll.example:8080"


def a_gang(**fields: Any) -> Manifest:  # noqa: ANN401 - fields of a status
    """Two workers on a node with GPUs, and a launcher and two loaders on one without."""
    roles = [
        {"name": "launcher", "template": a_template({"cpu": "1"})},
        {"name": "data-loader", "replicas": {"min": 2}, "template": a_template({"cpu": "2"})},
    ]
    policy = {"role": "launcher"}
    job = a_training_job("j", workers=2, gpus=4, roles=roles, successPolicy=policy)
    job = at(job, "gpu", "gpu", **fields)
    plain = {"nodes": ["cpu"], "acceleratorType": "", "pool": "", "revision": 1}
    job["status"]["placement"]["assignments"] += [
        {"role": "data-loader", "replica": 0, **plain},
        {"role": "data-loader", "replica": 1, **plain},
        {"role": "launcher", "replica": 0, **plain},
    ]
    return job


def stepped(*manifests: Manifest) -> Step:
    snapshot = seen(fake_node("gpu", H100, 8), fake_node("cpu", gpus=0), *manifests)
    (view,) = snapshot.jobs
    assert view.training is not None
    turn = Turn(snapshot, Occupancy(snapshot), worker_url=URL)
    return training_step(view, view.training, turn)


def status_of(step: Step) -> TrainingJobStatus:
    assert isinstance(step.status, TrainingJobStatus)
    return step.status


def environment(pod: Manifest) -> dict[str, str]:
    [container] = pod["spec"]["containers"]
    return {each["name"]: each["value"] for each in container["env"]}


def made(step: Step) -> dict[str, Manifest]:
    return {pod["metadata"]["name"]: pod for pod in step.create}


def test_all_pods_are_made_at_once() -> None:
    pods = made(stepped(a_gang()))
    assert sorted(pods) == [
        "j-data-loader-0",
        "j-data-loader-1",
        "j-launcher-0",
        "j-worker-0",
        "j-worker-1",
    ]
    for pod in pods.values():
        assert pod["spec"]["subdomain"] == "j"
        assert pod["spec"]["hostname"] == pod["metadata"]["name"]


def test_what_was_not_made_before_a_crash_is_made_then() -> None:
    job = a_gang()
    there = [pod for pod in pods_of(job) if pod["metadata"]["name"] != "j-data-loader-1"]
    assert list(made(stepped(job, *there))) == ["j-data-loader-1"]


def test_pods_without_gpus_ask_for_none_and_tolerate_nothing() -> None:
    launcher = made(stepped(a_gang()))["j-launcher-0"]
    [container] = launcher["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "1"}}
    assert "tolerations" not in launcher["spec"]


def test_everybody_knows_how_many_there_are_and_where_the_first_worker_is() -> None:
    pods = made(stepped(a_gang()))
    for name in ("j-launcher-0", "j-worker-1"):
        env = environment(pods[name])
        assert env["MASTER_ADDR"] == "j-worker-0.j"
        assert env["PLIMSOLL_COUNT_WORKER"] == "2"
        assert env["PLIMSOLL_COUNT_DATA_LOADER"] == "2"
        assert env["PLIMSOLL_COUNT_LAUNCHER"] == "1"
    assert environment(pods["j-data-loader-1"])["PLIMSOLL_REPLICA"] == "1"


def test_only_workers_have_a_rank_and_report() -> None:
    pods = made(stepped(a_gang()))
    worker, launcher = environment(pods["j-worker-1"]), environment(pods["j-launcher-0"])
    assert (worker["RANK"], worker["WORLD_SIZE"]) == ("1", "2")
    assert worker["PLIMSOLL_WORKER_URL"] == URL
    assert not {"RANK", "WORLD_SIZE", "PLIMSOLL_WORKER_URL"} & launcher.keys()


def test_it_runs_when_all_do() -> None:
    job = a_gang()
    *others, last = pods_of(job)
    last["status"]["conditions"] = []
    assert status_of(stepped(job, *others, last)).started_time is None
    step = stepped(job, *pods_of(job))
    assert is_true(status_of(step).conditions, "Running")


def test_it_is_done_when_the_role_that_decides_is_and_the_rest_goes() -> None:
    job = a_gang(startedTime=STARTED)
    pods = pods_of(job)
    for pod in pods:
        if "launcher" in pod["metadata"]["name"]:
            pod["status"] = {"phase": "Succeeded"}
    step = stepped(job, *pods)
    assert is_true(status_of(step).conditions, "Complete")
    assert step.events[-1].message == "launcher succeeded"
    assert len(step.delete) == 4


def test_workers_that_are_done_wait_for_the_role_that_decides() -> None:
    job = a_gang(startedTime=STARTED)
    pods = pods_of(job)
    for pod in pods:
        if "worker" in pod["metadata"]["name"]:
            pod["status"] = {"phase": "Succeeded"}
    step = stepped(job, *pods)
    assert not is_true(status_of(step).conditions, "Complete")
    assert not step.delete


@pytest.mark.parametrize("name", ["j-data-loader-1", "j-worker-0"])
def test_if_one_fails_all_start_again(name: str) -> None:
    job = a_gang(startedTime=STARTED)
    pods = pods_of(job)
    ended = {"terminated": {"exitCode": 1, "reason": "Error"}}
    for pod in pods:
        if pod["metadata"]["name"] == name:
            pod["status"] = {
                "phase": "Failed",
                "containerStatuses": [{"name": "main", "state": ended}],
            }
    step = stepped(job, *pods)
    assert status_of(step).restarts == 1
    assert len(step.delete) == 5
    role, _, replica = name.removeprefix("j-").rpartition("-")
    assert step.events[-1].message.startswith(f"{role} {replica} on ")
    assert {place.revision for place in status_of(step).placement.assignments} == {2}  # pyright: ignore[reportOptionalMemberAccess]
