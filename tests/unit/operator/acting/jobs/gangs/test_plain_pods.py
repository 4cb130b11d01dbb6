"""The step of a job that stands for a PodGroup: its pods are never made again, so they stay."""

from dataclasses import replace

import pytest

from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Refusal, Step, Turn
from plimsoll.acting.steps import Steps
from plimsoll.api.parts.conditions import is_true
from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Action, Admit, Hold, Migrate, Preempt
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Assignment, GpuType, NodeName, RoleName
from support.clusters.adopted_steps import status_of
from support.clusters.adopted_workloads import a_stand_in
from support.clusters.seen import NAMESPACE, seen
from support.objects.job_manifests import a_gpu_pod
from support.objects.manifests import edited
from support.objects.pod_groups import a_grouped_pod, a_pod_group, gated, sent

NAME = JobName(f"TrainingJob/{NAMESPACE}/podgroup-train")
GROUP = a_pod_group()
WAITING = tuple(gated(a_grouped_pod(number)) for number in range(2))
SENT = (sent(a_grouped_pod(0), "a"), sent(a_grouped_pod(1), "b"))
PLACED = a_stand_in(GROUP, *WAITING, on=("a", "b"))
UNPLACED = a_stand_in(GROUP, *WAITING)
STARTED = a_stand_in(GROUP, *WAITING, on=("a", "b"), startedTime="2026-11-21T11:00:00Z")
FULL = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "full"}


def steps(
    *manifests: Manifest, decided: Action | None = None, refused: Refusal | None = None
) -> list[Step]:
    snapshot = seen(fake_node("a", gpus=4), fake_node("b", gpus=4), *manifests)
    (view,) = snapshot.jobs
    turn = Turn(snapshot, Occupancy(snapshot), decided={decided.job: decided} if decided else {})
    if refused is not None:
        turn = replace(turn, refused={view.uid: refused})
    return [*Steps().of(turn, frozenset())]


def stepped(*manifests: Manifest, decided: Action | None = None) -> Step:
    (step,) = steps(*manifests, decided=decided)
    return step


def placed_on(*nodes: str) -> tuple[Assignment, ...]:
    role, kind = RoleName("worker"), GpuType(H100)
    return tuple(Assignment(role, n, kind, (NodeName(node),)) for n, node in enumerate(nodes))


def sends(step: Step) -> list[tuple[str, str]]:
    assert step.workload is not None
    assert not step.workload.changes_workload
    assert not step.delete
    return [(each.pod.name, each.node) for each in step.workload.placed]


def test_a_gang_that_gets_a_place_is_sent_there_at_once() -> None:
    admit = Admit(NAME, placed_on("a", "b"), Reason.ADMITTED, "placed")
    step = stepped(GROUP, UNPLACED, *WAITING, decided=admit)
    assert sends(step) == [("train-0", "a"), ("train-1", "b")]
    assert status_of(step).placement is not None


def test_it_is_sent_only_once_there_is_room_for_all() -> None:
    full = a_gpu_pod("other", "b", gpus=4)
    (step,) = steps(GROUP, PLACED, *WAITING, full)
    assert (step.workload, step.waits) == (None, True)


def test_one_of_which_a_part_was_sent_is_completed() -> None:
    assert sends(stepped(GROUP, PLACED, SENT[0], WAITING[1])) == [("train-1", "b")]


def test_a_pod_that_is_created_again_goes_where_it_was() -> None:
    assert sends(stepped(GROUP, STARTED, WAITING[0], SENT[1])) == [("train-0", "a")]


ACTIONS = (
    Preempt(NAME, Reason.PREEMPTED, "for another"),
    Migrate(NAME, placed_on("b", "b"), Reason.MIGRATED, "elsewhere"),
    Hold(NAME, Reason.INSUFFICIENT_GPUS, "no room"),
)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: type(action).__name__)
def test_whatever_a_plan_says_it_stays_once_it_has_started(action: Action) -> None:
    assert steps(GROUP, STARTED, *SENT, decided=action) == []
    waiting = stepped(GROUP, PLACED, *WAITING, decided=action)
    placement = status_of(waiting).placement
    assert placement is None or placement.revision == 2, "it has not started yet"


def test_its_user_cannot_suspend_it_either_once_it_has_started() -> None:
    suspended = edited(STARTED, {"spec.suspend": True})
    assert steps(GROUP, suspended, *SENT) == []
    waiting = stepped(GROUP, edited(PLACED, {"spec.suspend": True}), *WAITING)
    assert waiting.workload is None
    assert status_of(waiting).placement is None


def test_what_kube_scheduler_does_not_bind_keeps_its_place_and_that_is_said() -> None:
    pending = sent(a_grouped_pod(1), "b", phase="Pending")
    pending["status"]["conditions"] = [FULL]
    pending["metadata"]["creationTimestamp"] = "2026-11-21T10:00:00Z"
    step = stepped(GROUP, PLACED, SENT[0], pending)
    assert status_of(step).placement is not None
    assert step.workload is None
    (event,) = step.events
    assert event.reason is Reason.NODE_REFUSED
    assert "train-1 to b (full)" in event.message


def test_what_the_api_server_refuses_keeps_its_place_and_that_is_said() -> None:
    (step,) = steps(GROUP, PLACED, SENT[0], WAITING[1], refused=Refusal("a webhook says no"))
    assert status_of(step).placement is not None
    (event,) = step.events
    assert (event.reason, event.message) == (Reason.POD_REFUSED, "a webhook says no")
    (given_up,) = steps(GROUP, PLACED, *WAITING, refused=Refusal("a webhook says no"))
    assert status_of(given_up).placement is None


def test_it_runs_once_all_its_pods_are_ready() -> None:
    assert is_true(stepped(GROUP, PLACED, *SENT).status.conditions, "Running")
    starting = sent(a_grouped_pod(1), "b", phase="Pending")
    starting["metadata"]["creationTimestamp"] = "2026-11-20T10:00:00Z"
    for step in steps(GROUP, PLACED, SENT[0], starting):
        assert status_of(step).placement is not None, "for as long as it takes"


def test_it_ends_as_its_pods_do() -> None:
    done = [sent(a_grouped_pod(n), "a", phase="Succeeded") for n in range(2)]
    assert is_true(stepped(GROUP, STARTED, *done).status.conditions, "Complete")
    failed = stepped(GROUP, STARTED, SENT[0], sent(a_grouped_pod(1), "b", phase="Failed"))
    assert is_true(failed.status.conditions, "Failed")
    assert not failed.delete
