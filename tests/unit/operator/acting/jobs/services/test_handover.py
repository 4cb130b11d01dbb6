"""What becomes of a service's replica that moves: it serves on until its successor does."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import pytest

from plimsoll.acting.jobs.services.handover import LONGEST_START
from plimsoll.acting.jobs.services.inference import inference_step
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.api.inference_job import InferenceJobStatus
from plimsoll.api.parts.conditions import condition
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_gpu_pod, an_inference_job

GATE = "plimsoll.dev/serving"
RUNNING = {"type": "Running", "status": "True", "reason": "Running"}
EMPTIED = {"key": "plimsoll.dev/emptied", "effect": "NoSchedule"}
GOING = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
SPOT_NOTICE = {"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule"}
QUARANTINE = {"key": "plimsoll.dev/quarantine", "effect": "NoSchedule"}


def placed(*places: tuple[int, str], drain: str = "30s", name: str = "serve") -> Manifest:
    """The service with replicas of these numbers on these nodes."""
    role = {"drain": drain, "replicas": {"min": 1, "max": 4}}
    job = at(an_inference_job(name, role=role), *[node for _, node in places])
    running = {**RUNNING, "lastTransitionTime": NOW.isoformat(), "message": ""}
    job["status"]["conditions"] = [running]
    for place, (number, _) in zip(job["status"]["placement"]["assignments"], places, strict=True):
        place["replica"] = number
    return job


def serving(job: Manifest, *, ready: bool = True, created: datetime = NOW) -> list[Manifest]:
    """The pods of a placed service, which serve or still start."""
    made = list(stepped(job, ()).create)
    places = job["status"]["placement"]["assignments"]
    for pod, place in zip(made, places, strict=True):
        pod["metadata"]["creationTimestamp"] = created.isoformat()
        pod["spec"]["nodeName"] = place["nodes"][0]
        said = {"Ready": ready, "ContainersReady": ready, GATE: True}
        conditions = [
            {"type": kind, "status": str(holds), "lastTransitionTime": NOW.isoformat()}
            for kind, holds in said.items()
        ]
        pod["status"] = {"phase": "Running", "conditions": conditions}
    return made


def stepped(
    job: Manifest,
    pods: Iterable[Manifest],
    *beside: Manifest,
    taint: Manifest | None = None,
    now: datetime = NOW,
) -> Step:
    """What becomes of the job in one turn, beside other pods; `taint` is on the old node."""
    nodes = [fake_node("old", gpus=2), fake_node("new", gpus=2)]
    nodes[0]["spec"]["taints"] = [{"value": "", **taint}] if taint else []
    snapshot = seen(*nodes, job, *pods, *beside, now=now)
    view = next(each for each in snapshot.jobs if each.name.endswith(job["metadata"]["name"]))
    assert view.inference is not None
    return inference_step(view, view.inference, Turn(snapshot, Occupancy(snapshot)))


def taken_out(step: Step) -> list[int]:
    """The replicas that get no more requests, or are deleted."""
    closed = [change.pod.replica for change in step.gates if not change.opens]
    return closed + [pod.replica for pod in step.delete]


OLD, NEW = placed((0, "old")), placed((1, "new"))


@pytest.mark.parametrize("drain", ["30s", "0s"])
def test_the_old_replica_serves_while_the_new_one_is_made_and_starts(drain: str) -> None:
    old, new = placed((0, "old"), drain=drain), placed((1, "new"), drain=drain)
    there = serving(old)
    begun = stepped(new, there)
    assert ([pod["metadata"]["name"] for pod in begun.create], taken_out(begun)) == (
        ["serve-server-1"],
        [],
    )
    starting = stepped(new, [*there, *serving(new, ready=False)])
    assert taken_out(starting) == []
    assert starting.again_at == NOW + LONGEST_START


def test_it_goes_once_the_new_one_serves() -> None:
    assert taken_out(stepped(NEW, [*serving(OLD), *serving(NEW)])) == [0]


def test_the_status_says_who_serves_meanwhile() -> None:
    status = stepped(NEW, [*serving(OLD), *serving(NEW, ready=False)]).status
    assert isinstance(status, InferenceJobStatus)
    running = condition(status.conditions, "Running")
    assert running is not None
    assert running.status == "True"
    assert running.message == (
        "0 of 1 replicas are ready; until they are, 1 of the replicas that they replace keep"
        " serving"
    )


def test_it_goes_at_once_where_the_new_one_has_no_room_beside_it() -> None:
    new = placed((1, "old"))
    other = a_gpu_pod("other", node="old", gpus=1)
    assert taken_out(stepped(new, serving(OLD), other)) == [0]


def test_it_serves_on_while_training_leaves_the_new_place() -> None:
    training = a_gpu_pod("worker", node="new", gpus=2)
    step = stepped(NEW, serving(OLD), training)
    assert (step.create, step.waits, taken_out(step)) == ((), True, [])


def test_of_two_services_that_want_each_others_places_none_waits_for_the_other() -> None:
    mine = [*serving(placed((0, "old"), (2, "old")))]
    theirs = [*serving(placed((0, "new"), (2, "new"), name="other"))]
    wanted = placed((1, "old"), (3, "old"), name="other")
    step = stepped(placed((1, "new"), (3, "new")), mine, wanted, *theirs)
    assert taken_out(step) == [0, 2]


def test_it_goes_when_the_new_one_takes_longer_than_a_start_may() -> None:
    late = serving(NEW, ready=False, created=NOW - LONGEST_START)
    assert taken_out(stepped(NEW, [*serving(OLD), *late])) == [0]
    soon = serving(NEW, ready=False, created=NOW - LONGEST_START + timedelta(seconds=1))
    assert taken_out(stepped(NEW, [*serving(OLD), *soon])) == []


@pytest.mark.parametrize(
    ("taint", "goes"),
    [(GOING, []), (EMPTIED, []), (SPOT_NOTICE, [0]), (QUARANTINE, [0])],
    ids=str,
)
def test_it_stays_on_a_node_that_is_drained_or_emptied_and_on_none_that_breaks_or_is_taken_back(
    taint: Manifest, goes: list[int]
) -> None:
    there = [*serving(OLD), *serving(NEW, ready=False)]
    assert taken_out(stepped(NEW, there, taint=taint)) == goes


def test_as_many_serve_on_as_new_ones_start() -> None:
    old, new = placed((0, "old"), (1, "old")), placed((2, "new"))
    assert taken_out(stepped(new, [*serving(old), *serving(new, ready=False)])) == [1]


def test_none_serves_on_where_fewer_are_wanted() -> None:
    old, new = placed((0, "old"), (1, "old")), placed((0, "old"))
    assert taken_out(stepped(new, serving(old))) == [1]
