"""What becomes of a training job in one turn: its gang starts, runs, restarts, ends, all together.

The status is written before the pods follow from it, so that whatever happens between the two, the
next turn goes on from there.
"""

from datetime import datetime, timedelta
from typing import assert_never

from plimsoll.acting.pod_manifest import pod_manifest, selector, service_manifest
from plimsoll.acting.refusal import avoided, is_refused, patience_ends
from plimsoll.acting.release import released
from plimsoll.acting.seating import assignments, needs_of, nodes_summary, seats_of
from plimsoll.acting.step import Note, Step, Turn
from plimsoll.acting.telling import Fact, says, told
from plimsoll.api.conditions import is_true
from plimsoll.api.training_job import TrainingJob, TrainingJobStatus, TrainingPlacement
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.planning.actions import Admit, Hold, Migrate, Preempt, Resize
from plimsoll.telemetry import Reason

DAY = timedelta(hours=24)


def training_step(view: JobView, job: TrainingJob, turn: Turn) -> Step:
    """The writes that bring a training job one turn further."""
    status = job.status
    if is_true(status.conditions, "Complete") or is_true(status.conditions, "Failed"):
        return Step(view, status, delete=_alive(view.pods))
    if job.spec.suspend:
        return _suspended(view, job, turn)
    action = turn.decided.get(view.name)
    match action:
        case Admit() | Resize() | Migrate():
            return _placed(view, job, turn, action)
        case Preempt():
            return _preempted(view, job, turn, action)
        case Hold():
            return _held(view, job, turn, action)
        case None:
            return _going_on(view, job, status, turn)
        case _:
            assert_never(action)


def _alive(pods: tuple[PodView, ...]) -> tuple[PodView, ...]:
    return tuple(pod for pod in pods if not pod.is_over and not pod.deleting)


def _not_deleting(pods: tuple[PodView, ...]) -> tuple[PodView, ...]:
    return tuple(pod for pod in pods if not pod.deleting)


def _suspended(view: JobView, job: TrainingJob, turn: Turn) -> Step:
    status = job.status
    if status.placement is None and says(status, "Admitted", Reason.SUSPENDED):
        return Step(view, status, delete=_not_deleting(view.pods))
    message = "spec.suspend is true; set it to false and the job waits for a place again"
    facts = [Fact.false("Admitted", Reason.SUSPENDED, message)]
    facts.append(Fact.false("Running", Reason.SUSPENDED))
    now = told(released(status), view, turn.now, facts)
    note = Note(Reason.SUSPENDED, message)
    return Step(view, now, delete=_not_deleting(view.pods), notes=(note,))


def _held(view: JobView, job: TrainingJob, turn: Turn, hold: Hold) -> Step:
    status = job.status
    changed = status.reason != hold.reason
    facts = [Fact.false("Admitted", hold.reason, hold.message)]
    if is_true(status.conditions, "Running"):
        facts.append(Fact.false("Running", hold.reason))
    now = told(released(status), view, turn.now, facts)
    notes = (Note(hold.reason, hold.message, warning=hold.hopeless),) if changed else ()
    return Step(view, now, delete=_not_deleting(view.pods), notes=notes)


def _preempted(view: JobView, job: TrainingJob, turn: Turn, action: Preempt) -> Step:
    status = _disturbed(job.status, turn.now, forced=action.reason is Reason.NODE_LEFT)
    facts = [
        Fact.false("Admitted", action.reason, action.message),
        Fact.false("Running", action.reason),
    ]
    now = told(released(status), view, turn.now, facts)
    note = Note(action.reason, action.message, warning=True, pods=_alive(view.pods))
    return Step(view, now, delete=_not_deleting(view.pods), notes=(note,))


def _disturbed(status: TrainingJobStatus, now: datetime, *, forced: bool) -> TrainingJobStatus:
    """The status with one more disturbance, unless a higher duty demanded it."""
    if forced:
        return status
    recent = tuple(at for at in status.disruption_times if now - at < DAY)
    return status.model_copy(update={"disruption_times": (*recent, _second(now))})


def _placed(view: JobView, job: TrainingJob, turn: Turn, action: Admit | Resize | Migrate) -> Step:
    revision = job.status.revision + 1
    places = assignments(turn.snapshot, action.seats, revision)
    status = job.status
    if not isinstance(action, Admit):
        status = _disturbed(status, turn.now, forced=action.reason is Reason.NODE_LEFT)
    status = status.model_copy(
        update={
            "placement": TrainingPlacement(
                revision=revision,
                accelerator_type=places[0].accelerator_type,
                pool=places[0].pool,
                workers=len(places),
                assignments=places,
            ),
            "revision": revision,
            "worker_count": len(places),
            "selector": selector(job),
            "nodes_summary": nodes_summary(places),
            "admitted_time": _second(turn.now),
            "started_time": None,
            "next_restart_time": None,
        }
    )
    facts = [Fact.true("Admitted", action.reason, action.message)]
    if is_true(status.conditions, "Running"):
        facts.append(Fact.false("Running", action.reason))
    status = told(status, view, turn.now, facts)
    pods = () if isinstance(action, Admit) else _alive(view.pods)
    return _going_on(view, job, status, turn, Note(action.reason, action.message, pods=pods))


def _going_on(
    view: JobView, job: TrainingJob, status: TrainingJobStatus, turn: Turn, *notes: Note
) -> Step:
    """Bring the pods to what the placement says, and the status to what the pods say."""
    placement = status.placement
    if placement is None:
        return Step(view, status, delete=_not_deleting(view.pods), notes=notes)
    stale = tuple(pod for pod in view.pods if pod.revision != placement.revision)
    if stale:
        return Step(view, status, delete=_not_deleting(stale), notes=notes)
    if status.next_restart_time is not None and turn.now < status.next_restart_time:
        return Step(view, status, notes=notes, again_at=status.next_restart_time)
    missing = len(view.pods) < placement.workers
    if any(map(_is_lost, view.pods)) or (missing and status.started_time is not None):
        return _interrupted(view, job, status, turn)
    if missing:
        return _start(view, job, status, turn, notes)
    return _observed(view, status, turn, notes)


def _is_lost(pod: PodView) -> bool:
    return pod.phase == "Failed" or (pod.deleting and not pod.is_over)


def _start(
    view: JobView, job: TrainingJob, status: TrainingJobStatus, turn: Turn, notes: tuple[Note, ...]
) -> Step:
    """Make the pods that are missing, all at once, if there is room for them by now."""
    placement = status.placement
    assert placement is not None  # noqa: S101 - only called with one
    there = {pod.replica for pod in view.pods}
    missing = [each for each in placement.assignments if each.replica not in there]
    found = [seats_of(turn.snapshot, job, each) for each in missing]
    seats = [seat for each in found if each is not None for seat in each]
    if len(seats) < len(missing):
        return Step(view, status, notes=notes, waits=True)
    if not turn.occupancy.take_all(needs_of(job, seats)):
        return _waiting(view, job, status, turn, notes)
    return Step(
        view,
        status,
        service=service_manifest(job) if placement.workers > 1 and not there else None,
        create=tuple(pod_manifest(job, seat, placement.workers) for seat in seats),
        notes=notes,
    )


def _waiting(
    view: JobView, job: TrainingJob, status: TrainingJobStatus, turn: Turn, notes: tuple[Note, ...]
) -> Step:
    """The place is held for the job, but those who had it have not gone yet."""
    placement = status.placement
    assert placement is not None  # noqa: S101 - only called with one
    found = [seats_of(turn.snapshot, job, each) for each in placement.assignments]
    seats = [seat for each in found if each is not None for seat in each]
    nodes = turn.occupancy.crowded(needs_of(job, seats))
    message = f"its place is held; waits for pods to end on {', '.join(nodes[:4])}"
    fact = Fact.false("Running", Reason.WAITING_FOR_CAPACITY, message)
    if not says(status, "Running", Reason.WAITING_FOR_CAPACITY):
        status = told(status, view, turn.now, [fact])
    return Step(view, status, notes=notes, waits=True)


def _observed(
    view: JobView, status: TrainingJobStatus, turn: Turn, notes: tuple[Note, ...]
) -> Step:
    pods = view.pods
    if all(pod.phase == "Succeeded" for pod in pods):
        return _completed(view, status, turn)
    refused = [pod for pod in pods if is_refused(pod, turn)]
    if refused:
        return _refused(view, status, turn, refused)
    up = all(pod.ready or pod.phase == "Succeeded" for pod in pods)
    if up and status.started_time is None:
        status = status.model_copy(update={"started_time": _second(turn.now)})
        message = f"{len(pods)} of {len(pods)} workers run on {status.nodes_summary}"
        fact = Fact.true("Running", Reason.RUNNING, message)
        return Step(view, told(status, view, turn.now, [fact]), notes=notes)
    waits = [patience_ends(pod, turn) for pod in pods if pod.unschedulable]
    return Step(view, status, notes=notes, again_at=min(waits, default=None))


def _refused(view: JobView, status: TrainingJobStatus, turn: Turn, refused: list[PodView]) -> Step:
    """Kube-scheduler does not bind what was planned: plan again without those nodes."""
    nodes = {pod.wanted_node for pod in refused}
    more = avoided(status.avoided_nodes, nodes, turn)
    status = released(status.model_copy(update={"avoided_nodes": more}))
    first = refused[0]
    message = f"kube-scheduler refused {first.name} on {first.wanted_node}: {first.unschedulable}"
    facts = [Fact.false("Admitted", Reason.NODE_REFUSED, message)]
    note = Note(Reason.NODE_REFUSED, message, warning=True)
    now = told(status, view, turn.now, facts)
    return Step(view, now, delete=_not_deleting(view.pods), notes=(note,))


def _completed(view: JobView, status: TrainingJobStatus, turn: Turn) -> Step:
    message = f"all {len(view.pods)} workers succeeded"
    status = status.model_copy(update={"finished_time": _second(turn.now), "worker_count": 0})
    facts = [
        Fact.true("Complete", Reason.COMPLETED, message),
        Fact.false("Running", Reason.COMPLETED),
        Fact.false("Admitted", Reason.COMPLETED),
    ]
    now = told(status, view, turn.now, facts)
    return Step(view, now, notes=(Note(Reason.COMPLETED, message),))


def _interrupted(view: JobView, job: TrainingJob, status: TrainingJobStatus, turn: Turn) -> Step:
    """A worker failed or vanished: the whole gang starts again, or the job has failed."""
    failed = [pod for pod in view.pods if pod.phase == "Failed" and not pod.disrupted]
    message = _what_happened(view, failed)
    rules = job.spec.fault_tolerance
    recent = [at for at in status.restart_times if turn.now - at < rules.within]
    if failed and len(recent) >= rules.max_restarts:
        return _failed(view, status, turn, f"{message}; it had {len(recent)} restarts already")
    if not failed:
        return _restarting(view, status, turn, f"{message}; the gang starts again")
    pause = _pause(job, len(recent))
    status = status.model_copy(
        update={
            "restarts": status.restarts + 1,
            "restart_times": (*recent, _second(turn.now)),
            "next_restart_time": _second(turn.now + pause),
        }
    )
    text = f"{message}; the gang starts again in {pause.total_seconds():.0f} s"
    return _restarting(view, status, turn, text)


def _pause(job: TrainingJob, failures: int) -> timedelta:
    backoff = job.spec.fault_tolerance.backoff
    return min(backoff.max, backoff.initial * 2 ** min(failures, 16))


def _restarting(view: JobView, status: TrainingJobStatus, turn: Turn, message: str) -> Step:
    """The same places anew: pods of the old revision go, then those of the new one come."""
    placement = status.placement
    assert placement is not None  # noqa: S101 - only called with one
    revision = status.revision + 1
    again = tuple(a.model_copy(update={"revision": revision}) for a in placement.assignments)
    update = {"revision": revision, "assignments": again}
    status = status.model_copy(
        update={
            "placement": placement.model_copy(update=update),
            "revision": revision,
            "started_time": None,
        }
    )
    fact = Fact.false("Running", Reason.RESTARTING, message)
    note = Note(Reason.RESTARTING, message, warning=True)
    now = told(status, view, turn.now, [fact])
    return Step(view, now, delete=_not_deleting(view.pods), notes=(note,))


def _failed(view: JobView, status: TrainingJobStatus, turn: Turn, message: str) -> Step:
    status = status.model_copy(update={"finished_time": _second(turn.now), "worker_count": 0})
    facts = [
        Fact.true("Failed", Reason.BACKOFF_LIMIT_EXCEEDED, message),
        Fact.false("Running", Reason.FAILED),
        Fact.false("Admitted", Reason.FAILED),
    ]
    note = Note(Reason.BACKOFF_LIMIT_EXCEEDED, message, warning=True)
    return Step(view, told(status, view, turn.now, facts), delete=_alive(view.pods), notes=(note,))


def _what_happened(view: JobView, failed: list[PodView]) -> str:
    if failed:
        first, end = failed[0], failed[0].end
        code = f" with exit code {end.exit_code}" if end and end.exit_code >= 0 else ""
        why = f" ({end.reason or end.message})" if end and (end.reason or end.message) else ""
        return f"worker {first.replica} on {first.node} failed{code}{why}"
    gone = [pod for pod in view.pods if pod.deleting or pod.phase == "Failed"]
    if gone:
        return f"worker {gone[0].replica} on {gone[0].node} was taken away"
    return "a worker's pod is gone"


def _second(moment: datetime) -> datetime:
    """A moment as the API server keeps it."""
    return moment.replace(microsecond=0)
