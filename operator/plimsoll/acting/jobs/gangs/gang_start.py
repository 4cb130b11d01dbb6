"""What happens to a gang between its placement and its start, whoever makes its pods."""

from collections.abc import Sequence
from datetime import datetime

from plimsoll.acting.conditions.conditions import (
    Fact,
    says,
    starts_no_more,
    whole_second,
    with_conditions,
)
from plimsoll.acting.conditions.stuck_pods import stuck_among
from plimsoll.acting.conditions.unready_pods import NOT_READY, unready_among
from plimsoll.acting.jobs.ending import not_deleting
from plimsoll.acting.jobs.refusal import (
    avoided,
    bound_nowhere,
    not_bound,
    not_ready_in_time,
    patience_ends,
)
from plimsoll.acting.jobs.release import released
from plimsoll.acting.jobs.starting import never_started, start_ends, workers_that_wait
from plimsoll.acting.pods.gpu_request import needs_of, pod_placements
from plimsoll.acting.step import JobEvent, Step, Turn
from plimsoll.api.parts.conditions import condition
from plimsoll.api.training_job import TrainingJob, TrainingJobStatus
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.vocabulary.reasons import Reason


def waits_for_room(
    view: JobView,
    job: TrainingJob,
    status: TrainingJobStatus,
    turn: Turn,
    events: tuple[JobEvent, ...],
) -> Step:
    """The job's place is held, but the previous holders have not gone yet."""
    placement = status.placement
    assert placement is not None  # noqa: S101 - only called with one
    found = [pod_placements(turn.snapshot, job, each) for each in placement.assignments]
    placements = [pod for each in found if each is not None for pod in each]
    nodes = turn.occupancy.crowded(needs_of(job, placements))
    message = f"its place is held; waits for pods to end on {', '.join(nodes[:4])}"
    fact = Fact.false("Running", Reason.WAITING_FOR_CAPACITY, message)
    if not says(status, "Running", Reason.WAITING_FOR_CAPACITY):
        status = with_conditions(status, view, turn.now, [fact])
    return Step(view, status, events=events, waits=True)


def with_room(view: JobView, status: TrainingJobStatus, turn: Turn) -> TrainingJobStatus:
    """The status of a gang whose room is free: it says no longer that it waits for that."""
    if not says(status, "Running", Reason.WAITING_FOR_CAPACITY):
        return status
    return _starts(view, status, turn, "its room is free, and its pods are being made")


def starting(
    view: JobView,
    pods: Sequence[PodView],
    status: TrainingJobStatus,
    turn: Turn,
    events: tuple[JobEvent, ...],
) -> Step:
    """Not all of the gang has started: wait as long as that may take, and say what is stuck."""
    waiting = workers_that_wait(pods)
    late = never_started(waiting, turn)
    if late:
        return not_ready_in_time(view, status, late, turn)
    waits = [patience_ends(pod, turn) for pod in waiting if pod.unschedulable]
    status, told = _with_what_is_stuck(view, waiting, status, turn)
    status, tell_at = _with_what_is_unready(view, pods, status, turn)
    times = (start_ends(waiting, turn), tell_at)
    return Step(
        view,
        status,
        events=(*events, *told),
        again_at=min(waits, default=None),
        rests_until=min((at for at in times if at is not None), default=None),
    )


def _with_what_is_stuck(
    view: JobView, pods: Sequence[PodView], status: TrainingJobStatus, turn: Turn
) -> tuple[TrainingJobStatus, tuple[JobEvent, ...]]:
    """The status that says which container cannot start, said once however the words change."""
    stuck = stuck_among(pods)
    if stuck is None or _said(status, Reason.CANNOT_START).startswith(stuck.what):
        return status, ()
    until = start_ends([stuck.pod], turn)
    ends = f"; the job loses its place at {until:%H:%M:%S} UTC" if until is not None else ""
    message = f"{stuck.what}: {stuck.why}{ends}"
    return _told(view, status, turn, Reason.CANNOT_START, message)


def _with_what_is_unready(
    view: JobView, pods: Sequence[PodView], status: TrainingJobStatus, turn: Turn
) -> tuple[TrainingJobStatus, datetime | None]:
    """The status that names a pod that runs and is not ready, or when that is to be said.

    While a container cannot start, or pods fail and others make them anew, that is said instead.
    """
    unready, said = unready_among(pods), _said(status, Reason.STARTING)
    fails = view.workload is not None and says(status, "Running", Reason.RESTARTING)
    if unready is None and NOT_READY in said:
        return _starts(view, status, turn, "its other pods are to run"), None
    if unready is None or fails or stuck_among(pods) is not None:
        return status, None
    if turn.now < unready.told_at:
        return status, unready.told_at
    if unready.is_said_by(said):
        return status, None
    return _starts(view, status, turn, unready.message), None


def _starts(view: JobView, status: TrainingJobStatus, turn: Turn, why: str) -> TrainingJobStatus:
    fact = Fact.false("Running", Reason.STARTING, why)
    return with_conditions(status, view, turn.now, [fact])


def started(
    view: JobView,
    status: TrainingJobStatus,
    turn: Turn,
    events: tuple[JobEvent, ...],
    *,
    count: int,
) -> Step:
    """All `count` workers of the gang run; they may have run before it changed its size."""
    began = status.started_time or whole_second(turn.now)
    status = status.model_copy(update={"started_time": began, "refusals": 0})
    message = f"{count} of {count} workers run on {status.nodes_summary}"
    fact = Fact.true("Running", Reason.RUNNING, message)
    return Step(view, with_conditions(status, view, turn.now, [fact]), events=events)


def node_refused(
    view: JobView, status: TrainingJobStatus, turn: Turn, refused: Sequence[PodView]
) -> Step:
    """Kube-scheduler does not bind what was planned: plan again without those nodes."""
    nowhere = bound_nowhere(view, status, refused, turn)
    if nowhere is not None:
        return nowhere
    nodes = {pod.wanted_node for pod in refused}
    more = avoided(status.avoided_nodes, nodes, turn)
    status = released(status.model_copy(update={"avoided_nodes": more}))
    message = not_bound(refused[0])
    facts = [
        Fact.false("Admitted", Reason.NODE_REFUSED, message),
        *starts_no_more(status, Reason.NODE_REFUSED),
    ]
    event = JobEvent(Reason.NODE_REFUSED, message, warning=True)
    now = with_conditions(status, view, turn.now, facts)
    return Step(view, now, delete=not_deleting(view.pods), events=(event,))


def awaited_in_place(
    view: JobView,
    pods: Sequence[PodView],
    status: TrainingJobStatus,
    turn: Turn,
    events: tuple[JobEvent, ...],
) -> Step:
    """Not all of a gang has started whose pods nobody would make again: they are left to try."""
    refused = next((pod for pod in pods if pod.unschedulable), None)
    if refused is None:
        return Step(view, status, events=events)
    message = (
        f"kube-scheduler does not bind {refused.name} to {refused.wanted_node}"
        f" ({refused.unschedulable}), and it can go nowhere else: make room there, or delete all"
        " pods and create them anew"
    )
    return waits_in_place(view, status, turn, Reason.NODE_REFUSED, message)


def waits_in_place(
    view: JobView, status: TrainingJobStatus, turn: Turn, reason: Reason, message: str
) -> Step:
    """What is in the way of a gang that keeps its place all the same."""
    status, events = told_once(view, status, turn, reason, message)
    return Step(view, status, events=events)


def told_once(
    view: JobView, status: TrainingJobStatus, turn: Turn, reason: Reason, message: str
) -> tuple[TrainingJobStatus, tuple[JobEvent, ...]]:
    """The status and an event that say why not all of a gang runs; no event if that was said."""
    if says(status, "Running", reason):
        return status, ()
    return _told(view, status, turn, reason, message)


def _said(status: TrainingJobStatus, reason: Reason) -> str:
    """What is said of the start for this reason; what the status says first may be another."""
    found = condition(status.conditions, "Running")
    return found.message if found is not None and found.reason == reason else ""


def _told(
    view: JobView, status: TrainingJobStatus, turn: Turn, reason: Reason, message: str
) -> tuple[TrainingJobStatus, tuple[JobEvent, ...]]:
    fact = Fact.false("Running", reason, message)
    event = JobEvent(reason, message, warning=True)
    return with_conditions(status, view, turn.now, [fact]), (event,)
