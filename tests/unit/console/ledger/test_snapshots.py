"""What accounting sees in a snapshot, made by the observer from the API server's objects."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from plimsoll.observe.snapshot import Snapshot
from plimsoll_console.ledger.accounting.observation import (
    Account,
    Holding,
    Level,
    Observation,
    Place,
)
from plimsoll_console.ledger.snapshots import milliseconds, observation_of
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, pods_of, seen
from support.objects.job_manifests import a_gpu_pod, a_pool, a_training_job, an_inference_job

GPU = "nvidia.com/gpu"
NODE = fake_node("n-0", gpus=8)
POWER = {"idleWatts": 75, "typicalWatts": 560, "limitWatts": 700}
POOL = a_pool(
    "reserved",
    {"kubernetes.io/hostname": "n-0"},
    capacityType="Reserved",
    pricePerGPUHour="2.5",
    power=POWER,
)


def minutes_ago(minutes: int) -> str:
    return (NOW - timedelta(minutes=minutes)).isoformat()


def ms_ago(minutes: int) -> int:
    return milliseconds(datetime.fromisoformat(minutes_ago(minutes)))


def a_job(**status: Any) -> Manifest:  # noqa: ANN401 - fields of a status
    job = a_training_job("train", gpus=4, queue="research")
    job["metadata"]["annotations"] = {"plimsoll.dev/created-by": "ann@example.com"}
    return at(job, "n-0", **status)


def its_pod(job: Manifest, *, phase: str = "Running", gpus: int = 4, **status: Any) -> Manifest:  # noqa: ANN401 - same
    (pod,) = pods_of(job, phase=phase)
    limits = {"limits": {GPU: str(gpus)}}
    pod["spec"]["containers"] = [{"name": "main", "resources": limits}]
    pod["status"] |= {"startTime": minutes_ago(50), **status}
    return pod


def observed(*manifests: Manifest) -> Observation:
    snapshot: Snapshot = seen(NODE, POOL, *manifests)
    return observation_of(snapshot, since_ms=0)


def the_holding(*manifests: Manifest) -> Holding:
    (holding,) = observed(*manifests).holdings
    return holding


def test_a_node_has_its_pools_price_option_and_draw() -> None:
    (node,) = observed().nodes
    (devices,) = node.devices
    assert devices.place == Place(H100, "reserved", "Reserved", 1000, 2_500_000)
    assert (devices.milli, devices.idle_watts, devices.busy_watts) == (8000, 75, 560)


def test_a_pod_holds_its_gpus_for_its_job_since_it_was_started() -> None:
    job = a_job(startedTime=minutes_ago(40))
    holding = the_holding(job, its_pod(job))
    assert holding.account == Account(
        "TrainingJob", "team", "train", "uid-TrainingJob-train", "research", "ann@example.com"
    )
    assert (holding.milli, holding.since_ms, holding.works_ms) == (4000, ms_ago(50), ms_ago(40))
    assert (holding.leaves_ms, holding.ends_ms, holding.watts) == (None, None, 560)


def test_a_gang_works_from_when_all_its_workers_were_ready() -> None:
    job = a_job()
    assert the_holding(job, its_pod(job)).works_ms is None


def test_a_pod_that_is_over_held_its_gpus_until_its_containers_ended() -> None:
    job = a_job(startedTime=minutes_ago(40))
    ended = {"terminated": {"exitCode": 0, "finishedAt": minutes_ago(5)}}
    over = its_pod(job, phase="Succeeded", containerStatuses=[{"name": "main", "state": ended}])
    assert the_holding(job, over).ends_ms == ms_ago(5)
    assert observation_of(seen(NODE, job, over), ms_ago(4)).holdings == ()


def test_the_power_that_was_measured_counts_before_the_pools() -> None:
    power = {
        "role": "worker",
        "expectedWatts": 560,
        "measuredWatts": 431,
        "percent": "70",
        "plannedPercent": 75,
        "seconds": 900,
        "observedTime": minutes_ago(1),
    }
    job = a_job(power=[power])
    assert the_holding(job, its_pod(job)).watts == 431


def test_a_place_without_its_pod_is_reserved() -> None:
    (node,) = observed(a_job()).nodes
    (level,) = node.levels
    assert (level.resource, level.milli) == (GPU, 4000)
    assert level.account is not None
    assert level.account.name == "train"


def test_a_place_with_its_pod_is_not_reserved_too() -> None:
    job = a_job()
    (node,) = observed(job, its_pod(job)).nodes
    assert node.levels == ()


def test_pods_of_others_take_gpus() -> None:
    (node,) = observed(a_gpu_pod("other", "n-0", gpus=3)).nodes
    assert node.levels == (Level(GPU, 3000),)


def test_a_job_that_has_never_run_waits_since_its_creation() -> None:
    job = a_training_job("train", workers=(2, 4), gpus=4)
    job["metadata"]["creationTimestamp"] = minutes_ago(30)
    (wait,) = observed(job).waits
    assert (wait.milli, wait.since_ms, wait.until_ms) == (8000, ms_ago(30), None)
    assert wait.place == Place(H100)


def test_a_job_with_a_place_has_waited_until_its_admission() -> None:
    job = a_job(admittedTime=minutes_ago(20))
    job["metadata"]["creationTimestamp"] = minutes_ago(30)
    (wait,) = observed(job).waits
    assert (wait.since_ms, wait.until_ms) == (ms_ago(30), ms_ago(20))


def test_a_job_that_is_suspended_does_not_wait() -> None:
    assert observed(a_training_job("train", suspend=True)).waits == ()


def test_lost_work_is_told_with_its_time() -> None:
    job = a_job(lostWork=[{"time": minutes_ago(10), "gpuSeconds": 720}])
    (loss,) = observed(job).losses
    assert (loss.at_ms, loss.milli_ms) == (ms_ago(10), 720 * 1000 * 1000)


def test_a_service_works_while_its_pods_are_ready() -> None:
    job = at(an_inference_job("serve", gpus=4), "n-0")
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": minutes_ago(15)}
    assert the_holding(job, its_pod(job, conditions=[ready])).works_ms == ms_ago(15)
    starts = its_pod(job, conditions=[{"type": "Ready", "status": "False"}])
    assert the_holding(job, starts).works_ms is None


@pytest.mark.parametrize("user", ["\0", "n" * 10_000, "\u202e<script>"])
def test_names_are_cut_to_what_databases_take(user: str) -> None:
    job = a_job()
    job["metadata"]["annotations"] = {"plimsoll.dev/created-by": user}
    told = the_holding(job, its_pod(job)).account.user
    assert "\0" not in told
    assert len(told) <= 512


def test_a_node_with_an_absurd_number_of_gpus_is_left_out() -> None:
    node = fake_node("n-0", gpus=8)
    node["status"]["allocatable"][GPU] = str(10**18)
    nodes = observation_of(seen(node, fake_node("n-1", gpus=4)), 0).nodes
    assert [each.milli for node in nodes for each in node.devices] == [4000]
