"""The step of a training job: its gang starts, runs, restarts and ends as a whole.

The status is written before the pods follow from it, so the next turn can go on from there whatever
happens in between. Only a single pod may tell its own place (`first_place`).
"""

from collections.abc import Sequence
from typing import assert_never

from plimsoll.acting.conditions.conditions import (
    Fact,
    says,
    starts_no_more,
    whole_second,
    with_conditions,
)
from plimsoll.acting.conditions.progress import progressed, without_rate
from plimsoll.acting.conditions.speeds import with_speeds
from plimsoll.acting.jobs.disturbance import disturbed
from plimsoll.acting.jobs.ending import alive
from plimsoll.acting.jobs.gangs.adopted import adopted_goes_on, ended, with_pods_kept, without_place
from plimsoll.acting.jobs.gangs.first_place import told_by_pod, with_first_place
from plimsoll.acting.jobs.gangs.gang_start import (
    node_refused,
    started,
    starting,
    waits_for_room,
    with_room,
)
from plimsoll.acting.jobs.gangs.live_resize import kept_places
from plimsoll.acting.jobs.gangs.notice import departing, noticed, with_answer, without_old_notice
from plimsoll.acting.jobs.gangs.restarting import interrupted
from plimsoll.acting.jobs.refusal import (
    begun_anew,
    is_refused,
)
from plimsoll.acting.jobs.release import released
from plimsoll.acting.pods.gpu_request import assignments, needs_of, nodes_summary, pod_placements
from plimsoll.acting.pods.manifest import (
    Gang,
    Manifest,
    PodPlacement,
    gang_of,
    pod_manifest,
    selector,
    service_manifest,
)
from plimsoll.acting.pods.worker_access import with_access
from plimsoll.acting.step import JobEvent, Step, Turn
from plimsoll.api.parts.batch import PlacedBatch
from plimsoll.api.parts.conditions import is_true
from plimsoll.api.parts.gang_roles import WORKER
from plimsoll.api.parts.placement import Assignment
from plimsoll.api.training_job import TrainingJob, TrainingJobStatus, TrainingPlacement
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.planning.actions import Admit, Hold, Migrate, Preempt, Resize
from plimsoll.planning.training.batch_choice import better_live_batch, chosen_batch
from plimsoll.planning.training.success import deciding_pods, is_done
from plimsoll.vocabulary.reasons import Reason


def training_step(view: JobView, job: TrainingJob, turn: Turn) -> Step:
    """The writes that move a training job one turn further."""
    if view.is_over:
        return with_pods_kept(Step(view, job.status, delete=alive(view.pods)))
    if view.workload is not None and view.workload.outcome is not None:
        return ended(view, job.status, turn, view.workload.outcome)
    job = begun_anew(_heard(view, with_first_place(view, job), turn))
    # Work that is done is not done again, whatever was decided before that was seen.
    done = is_done(view)
    step = _completed(view, job.status, turn) if done else _stepped(view, job, turn)
    return with_speeds(with_pods_kept(step), job)


def _stepped(view: JobView, job: TrainingJob, turn: Turn) -> Step:
    if view.stays:
        return _going_on(view, job, job.status, turn)
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
            return _going_on(view, job, job.status, turn)
        case _:
            assert_never(action)


def _heard(view: JobView, job: TrainingJob, turn: Turn) -> TrainingJob:
    """The job with its workers' reports, so that any status written includes them."""
    nodes = turn.snapshot.node_by_name
    at = (nodes[pod.node] for pod in view.pods if pod.node in nodes)
    capped = any(node.cap_watts is not None for node in at)
    status = with_answer(view, progressed(view, job, capped=capped), turn.now)
    status = without_old_notice(view, status)
    return job if status is job.status else job.model_copy(update={"status": status})


def _suspended(view: JobView, job: TrainingJob, turn: Turn) -> Step:
    status = job.status
    if status.placement is None and says(status, "Admitted", Reason.SUSPENDED):
        return _left(view, status, turn)
    message = "spec.suspend is true; set it to false to queue the job again"
    facts = [Fact.false("Admitted", Reason.SUSPENDED, message)]
    facts.append(Fact.false("Running", Reason.SUSPENDED))
    now = with_conditions(released(status), view, turn.now, facts)
    now, events = noticed(view, job, now, turn, JobEvent(Reason.SUSPENDED, message))
    return _left(view, now, turn, *events)


def _held(view: JobView, job: TrainingJob, turn: Turn, hold: Hold) -> Step:
    status = job.status
    facts = [
        Fact.false("Admitted", hold.reason, hold.message),
        *starts_no_more(status, hold.reason),
    ]
    if is_true(status.conditions, "Running"):
        facts.append(Fact.false("Running", hold.reason))
    now = with_conditions(released(status), view, turn.now, facts)
    event = JobEvent(hold.reason, hold.message, warning=hold.inadmissible)
    now, events = noticed(view, job, now, turn, event)
    return _left(view, now, turn, *(events if status.reason != hold.reason else events[1:]))


def _preempted(view: JobView, job: TrainingJob, turn: Turn, action: Preempt) -> Step:
    status = disturbed(job.status, job, action, turn.now)
    facts = [
        Fact.false("Admitted", action.reason, action.message),
        Fact.false("Running", action.reason),
    ]
    now = with_conditions(released(status), view, turn.now, facts)
    event = JobEvent(action.reason, action.message, warning=True, pods=alive(view.pods))
    now, events = noticed(view, job, now, turn, event)
    return _left(view, now, turn, *events)


def _left(view: JobView, status: TrainingJobStatus, turn: Turn, *events: JobEvent) -> Step:
    """Delete all pods of a job without a place."""
    if view.workload is not None:
        return without_place(view, status, *events)
    delete, again = departing(view.pods, view, status, turn)
    return Step(view, status, delete=delete, events=events, again_at=again)


def _placed(view: JobView, job: TrainingJob, turn: Turn, action: Admit | Resize | Migrate) -> Step:
    revision = max(job.status.revision, *(pod.revision for pod in view.pods), 0) + 1
    places = assignments(turn.snapshot, action.assignments, revision)
    kept = kept_places(view, job.status, places) if isinstance(action, Resize) else None
    places = places if kept is None else kept
    workers = [each for each in places if each.role == WORKER]
    status = without_rate(job.status)
    if not isinstance(action, Admit) and kept is None:
        status = disturbed(status, job, action, turn.now)
    status = status.model_copy(
        update={
            "placement": TrainingPlacement(
                revision=revision,
                generation=job.metadata.generation,
                accelerator_type=workers[0].accelerator_type,
                pool=workers[0].pool,
                workers=len(workers),
                batch=_batch(job, workers),
                assignments=places,
            ),
            "revision": revision,
            "worker_count": len(workers),
            "selector": selector(job),
            "nodes_summary": nodes_summary(places),
            "admitted_time": whole_second(turn.now),
            "started_time": None if kept is None else status.started_time,
            "next_restart_time": None,
        }
    )
    facts = [Fact.true("Admitted", action.reason, action.message)]
    if kept is not None:
        facts.append(Fact.true("Running", Reason.RESIZED, action.message))
    elif is_true(status.conditions, "Running"):
        facts.append(Fact.false("Running", action.reason))
    status = with_conditions(status, view, turn.now, facts)
    pods = () if isinstance(action, Admit) else alive(view.pods)
    event = JobEvent(action.reason, action.message, pods=pods)
    events = (event,)
    if kept is None:
        status, events = noticed(view, job, status, turn, event)
    step = _going_on(view, job, status, turn, *events)
    return told_by_pod(step, job, turn) if isinstance(action, Admit) else step


def _batch(job: TrainingJob, workers: Sequence[Assignment]) -> PlacedBatch | None:
    """The batch for a placement; the previous one where the spec allows none there."""
    before = job.status.placement.batch if job.status.placement else None
    return chosen_batch(job, workers[0].accelerator_type, len(workers)) or before


def _going_on(
    view: JobView, job: TrainingJob, status: TrainingJobStatus, turn: Turn, *events: JobEvent
) -> Step:
    """Bring the pods in line with the placement, and the status in line with the pods."""
    if status.placement is None:
        return _left(view, status, turn, *events)
    goes_on = _gang_goes_on if job.spec.workload_ref is None else adopted_goes_on
    return goes_on(view, job, status, turn, *events)


def _gang_goes_on(
    view: JobView, job: TrainingJob, status: TrainingJobStatus, turn: Turn, *events: JobEvent
) -> Step:
    """The same for a gang of our own pods."""
    placement = status.placement
    assert placement is not None  # noqa: S101 - only called with one
    stale = tuple(pod for pod in view.pods if pod.revision != placement.revision)
    if stale:
        delete, again = departing(stale, view, status, turn)
        return Step(view, status, delete=delete, events=events, again_at=again)
    if status.next_restart_time is not None and turn.now < status.next_restart_time:
        return Step(view, status, events=events, again_at=status.next_restart_time)
    missing = len(view.pods) < len(placement.assignments)
    if any(map(_is_lost, view.pods)) or (missing and status.started_time is not None):
        return interrupted(view, job, status, turn)
    if missing:
        return _start(view, job, status, turn, events)
    return _observed(view, job, status, turn, events)


def _is_lost(pod: PodView) -> bool:
    """Whether a worker was lost before its work was done.

    A pod that was evicted and then succeeded is not lost: many programs exit with 0 on SIGTERM.
    """
    return pod.phase == "Failed" or (pod.deleting and (not pod.is_over or pod.disrupted))


def _start(
    view: JobView,
    job: TrainingJob,
    status: TrainingJobStatus,
    turn: Turn,
    events: tuple[JobEvent, ...],
) -> Step:
    """Create the missing pods, all at once, if there is room for them by now."""
    placement = status.placement
    assert placement is not None  # noqa: S101 - only called with one
    there = {(pod.role, pod.replica) for pod in view.pods}
    missing = [each for each in placement.assignments if (each.role, each.replica) not in there]
    found = [pod_placements(turn.snapshot, job, each) for each in missing]
    placements = [pod for each in found if each is not None for pod in each]
    if len(placements) < len(missing):
        return Step(view, status, events=events, waits=True)
    if not turn.occupancy.take_all(needs_of(job, placements)):
        return waits_for_room(view, job, status, turn, events)
    gang = gang_of(placement)
    return Step(
        view,
        with_room(view, status, turn),
        service=None if gang.is_alone else service_manifest(job),
        create=tuple(_pod(job, pod, gang, turn) for pod in placements),
        events=events,
    )


def _pod(job: TrainingJob, place: PodPlacement, gang: Gang, turn: Turn) -> Manifest:
    """A pod of the gang; only workers report."""
    manifest = pod_manifest(job, place, gang)
    return with_access(manifest, turn.worker_url) if place.role == WORKER else manifest


def _observed(
    view: JobView,
    job: TrainingJob,
    status: TrainingJobStatus,
    turn: Turn,
    events: tuple[JobEvent, ...],
) -> Step:
    pods, deciding = view.pods, deciding_pods(view)
    if deciding and all(pod.phase == "Succeeded" for pod in deciding):
        return _completed(view, status, turn)
    refused = [pod for pod in pods if is_refused(pod, turn)]
    if refused:
        return node_refused(view, status, turn, refused)
    up = all(pod.ready or pod.phase == "Succeeded" for pod in pods)
    if up and status.started_time is None:
        return started(view, status, turn, events, count=len(pods))
    if status.started_time is not None:
        return _trains(view, job, status, events)
    return starting(view, view.pods, status, turn, events)


def _trains(
    view: JobView, job: TrainingJob, status: TrainingJobStatus, events: tuple[JobEvent, ...]
) -> Step:
    """The gang trains; its batch may change meanwhile, if its workers can do that."""
    placement = status.placement
    better = better_live_batch(job)
    if better is None or placement is None or placement.batch is None:
        return Step(view, status, events=events)
    message = f"batch from {placement.batch.size} to {better.size} samples, without a restart"
    placement = placement.model_copy(update={"batch": better})
    now = status.model_copy(update={"placement": placement})
    return Step(view, now, events=(*events, JobEvent(Reason.BATCH_CHANGED, message)))


def _completed(view: JobView, status: TrainingJobStatus, turn: Turn) -> Step:
    """The job is done; what of its gang still runs has nothing left to do."""
    deciding = deciding_pods(view)
    role, count = deciding[0].role, len(deciding)
    message = f"all {count} workers succeeded"
    if role != WORKER:
        message = f"all {count} pods of role {role} succeeded" if count > 1 else f"{role} succeeded"
    status = status.model_copy(update={"finished_time": whole_second(turn.now), "worker_count": 0})
    facts = [
        Fact.true("Complete", Reason.COMPLETED, message),
        Fact.false("Running", Reason.COMPLETED),
        Fact.false("Admitted", Reason.COMPLETED),
    ]
    now = with_conditions(status, view, turn.now, facts)
    rest = alive(view.pods)
    return Step(view, now, delete=rest, events=(JobEvent(Reason.COMPLETED, message),))
