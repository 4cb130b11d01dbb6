"""The step of a job whose workload changes its size while it runs: no pod that stays is touched."""

from typing import Any, Final

import pytest

from plimsoll.acting.step import Step
from plimsoll.acting.writes.workloads import operations
from plimsoll.api.parts.conditions import condition
from plimsoll.api.training_job import TrainingPlacement
from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Resize
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Assignment, GpuType, NodeName, RoleName
from support.clusters.adopted_steps import status_of, stepped, writes
from support.clusters.adopted_workloads import a_pod_of, a_stand_in
from support.clusters.seen import NAMESPACE
from support.objects.manifests import edited
from support.objects.workloads import a_ray_cluster, a_ray_job, asking, held, suspended

NAME = JobName(f"TrainingJob/{NAMESPACE}/raycluster-train")
RANGE: Final[Manifest] = {"workers.min": "1", "workers.max": "4"}
STARTED = "2026-11-21T11:00:00Z"
RUNS: Final[Manifest] = {
    "startedTime": STARTED,
    "reason": "Running",
    "conditions": [
        {
            "type": "Running",
            "status": "True",
            "reason": "Running",
            "lastTransitionTime": STARTED,
        }
    ],
}
WHERE_A_POD_IS_TOO_MANY: Final[list[tuple[Manifest, tuple[bool | None, tuple[str, ...]]]]] = [
    (RANGE, (None, ("train-2",))),
    ({}, (True, ())),
]


def a_gang(
    *nodes: str,
    size: int = 2,
    annotations: Manifest = RANGE,
    **status: Any,  # noqa: ANN401 - fields of it
) -> list[Manifest]:
    """A RayCluster of so many workers that runs, and what stands for it, with these places."""
    workload = held(asking(a_ray_cluster(workers=size), annotations))
    stand_in = a_stand_in(workload, on=nodes, **RUNS | status)
    return [suspended(workload, suspend=False), stand_in]


def on(*nodes: str) -> list[Manifest]:
    """Its pods, by their numbers; one without a node waits for a place."""
    maker = a_ray_cluster()
    return [
        a_pod_of(maker, number, node, stand_in="raycluster-train")
        for number, node in enumerate(nodes)
    ]


def resized(*places: tuple[int, str]) -> Resize:
    """A decision to have these workers, by their numbers and nodes."""
    role, kind = RoleName("worker"), GpuType(H100)
    found = (Assignment(role, number, kind, (NodeName(node),)) for number, node in places)
    return Resize(NAME, tuple(found), Reason.RESIZED, "resized")


def placement_of(step: Step) -> TrainingPlacement:
    found = status_of(step).placement
    assert found is not None
    return found


def running(step: Step) -> tuple[str, str]:
    """Whether its condition holds, and why."""
    found = condition(step.status.conditions, "Running")
    assert found is not None
    return found.status, found.reason


def test_one_that_grows_gets_more_pods_and_keeps_running() -> None:
    grow = resized((0, "a"), (1, "a"), (2, "b"))
    step = stepped(*a_gang("a", "a"), *on("a", "a"), decided=grow)
    assert [each.revision for each in placement_of(step).assignments] == [1, 1, 2]
    assert status_of(step).started_time is not None
    assert status_of(step).disruption_times == ()
    assert running(step) == ("True", "Resized")
    assert (writes(step).suspend, writes(step).size, writes(step).leaving) == (None, 3, ())
    assert [event.reason for event in step.events] == ["Resized"]


def grown(size: int = 3) -> list[Manifest]:
    """One that has just grown to three workers."""
    workload, stand_in = a_gang("a", "a", "b", size=size)
    stand_in["status"]["conditions"][0]["reason"] = "Resized"
    places = stand_in["status"]["placement"]["assignments"]
    places[2]["revision"] = stand_in["status"]["placement"]["revision"] = 2
    return [workload, stand_in]


def test_the_new_pods_are_sent_and_it_says_once_they_run() -> None:
    step = stepped(*grown(), *on("a", "a", ""))
    (new,) = writes(step).placed
    assert (new.pod.name, new.node, new.labels["plimsoll.dev/revision"]) == ("train-2", "b", "2")
    assert running(step) == ("True", "Resized")
    there = on("a", "a", "b")
    there[2]["metadata"]["labels"]["plimsoll.dev/revision"] = "2"
    step = stepped(*grown(), *there)
    assert running(step) == ("True", "Running")
    assert status_of(step).message.startswith("3 of 3 workers run on")
    started = status_of(step).started_time
    assert started is not None
    assert started.hour == 11, "it has run since then"


def test_one_that_shrinks_loses_the_pods_that_have_no_place() -> None:
    step = stepped(*a_gang("a", "a", "b", size=3), *on("a", "a", "b"), decided=resized((1, "a")))
    assert [each.revision for each in placement_of(step).assignments] == [1]
    assert status_of(step).started_time is not None
    found = writes(step)
    assert (found.suspend, found.size, found.leaving) == (None, 1, ("train-0", "train-2"))
    group = "/spec/workerGroupSpecs/0"
    _, *patch = operations(found)
    assert patch == [
        {
            "op": "add",
            "path": f"{group}/scaleStrategy",
            "value": {"workersToDelete": ["train-0", "train-2"]},
        },
        {"op": "add", "path": f"{group}/replicas", "value": 1},
    ]


def test_its_controller_is_asked_until_they_go() -> None:
    still = stepped(*a_gang("a"), *on("a", "a"))
    assert (writes(still).size, writes(still).leaving) == (1, ("train-1",))
    go = on("a", "a")
    go[1]["metadata"]["deletionTimestamp"] = STARTED
    assert stepped(*a_gang("a", size=1), *go).workload is None


def test_pods_that_wait_for_a_place_go_before_those_that_run() -> None:
    step = stepped(*grown(), *on("a", "a", ""), decided=resized((0, "a"), (1, "a")))
    assert (writes(step).size, writes(step).leaving) == (2, ("train-2",))


def test_pods_that_were_to_go_and_are_still_there_are_taken_back() -> None:
    _, stand_in = a_gang("a", **RUNS)
    stand_in["status"]["placement"]["revision"] = stand_in["status"]["revision"] = 2
    workload, _ = a_gang("a", size=1)
    step = stepped(workload, stand_in, *on("a", "a"), decided=resized((0, "a"), (1, "a")))
    assert [each.revision for each in placement_of(step).assignments] == [1, 1]
    assert (writes(step).size, writes(step).leaving) == (2, ())


@pytest.mark.parametrize(
    "places", [((0, "b"), (1, "a")), ((0, "a"), (2, "b"))], ids=["moves", "replaces"]
)
def test_one_that_moves_is_stopped(places: tuple[tuple[int, str], ...]) -> None:
    step = stepped(*a_gang("a", "a"), *on("a", "a"), decided=resized(*places))
    assert writes(step).suspend is True
    assert status_of(step).started_time is None
    assert len(status_of(step).disruption_times) == 1


def test_one_that_has_not_started_is_started_anew() -> None:
    waits = a_gang("a", "a", startedTime=None, conditions=[])
    step = stepped(*waits, *on("a", ""), decided=resized((0, "a"), (1, "a"), (2, "b")))
    assert [each.revision for each in placement_of(step).assignments] == [2, 2, 2]
    assert writes(step).suspend is True


@pytest.mark.parametrize(("annotations", "written"), WHERE_A_POD_IS_TOO_MANY)
def test_a_pod_without_a_place_goes_or_stops_one_that_keeps_its_size(
    annotations: Manifest, written: tuple[bool | None, tuple[str, ...]]
) -> None:
    step = stepped(*a_gang("a", "a", annotations=annotations), *on("a", "a", "b"))
    assert (writes(step).suspend, writes(step).leaving) == written


def test_a_ray_job_is_stopped_for_another_size() -> None:
    workload = held(asking(a_ray_job(workers=2), RANGE))
    stand_in = a_stand_in(workload, on=("a", "a"), **RUNS)
    job = JobName(f"TrainingJob/{NAMESPACE}/rayjob-train")
    grow = resized((0, "a"), (1, "a"), (2, "b"))
    decided = Resize(job, grow.assignments, grow.reason, grow.message)
    step = stepped(suspended(workload, suspend=False), stand_in, decided=decided)
    assert writes(step).suspend is True
    assert status_of(step).started_time is None


def test_one_whose_head_has_gpus_is_stopped_for_another_size() -> None:
    head = "spec.headGroupSpec.template.spec.containers.0.resources"
    asks: Manifest = {head: {"limits": {"nvidia.com/gpu": 1}}}
    cluster = asking(edited(a_ray_cluster(workers=1), asks), {**RANGE, "workers.min": "2"})
    stand_in = a_stand_in(held(cluster), on=("a", "a"), **RUNS)
    grow = resized((0, "a"), (1, "a"), (2, "b"))
    step = stepped(suspended(held(cluster), suspend=False), stand_in, decided=grow)
    assert status_of(step).started_time is None
