"""Count completed steps: jobs admitted, preempted and finished, waiting and running."""

from collections import Counter
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from plimsoll.acting.metrics.labels import counted_as, counted_queues
from plimsoll.acting.step import Step
from plimsoll.api.training_job import TrainingJobStatus
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.problem.build import wants_place
from plimsoll.planning.training.stopping import restart_seconds
from plimsoll.planning.training.success import has_succeeded
from plimsoll.remembered import once_for_each
from plimsoll.vocabulary import metrics
from plimsoll.vocabulary.reasons import INADMISSIBLE, TAKEN, Reason
from plimsoll_placement.model import WHOLE_GPU_MILLI

_REASONS = frozenset(map(str, Reason))
_ENDS: Final[Mapping[str, str]] = {
    Reason.COMPLETED: "Completed",
    Reason.BACKOFF_LIMIT_EXCEEDED: "Failed",
}
JobState = Literal["Waiting", "Running", "Suspended", "Deleting", "Finished"]


class _Labels(NamedTuple):
    """What a job is counted by."""

    queue: str
    kind: str
    state: JobState
    reason: str


def count(step: Step, snapshot: Snapshot) -> None:
    """Count what a completed step did."""
    before, after = step.job.resource.status, step.status
    queue = counted_as(step.job.resource.spec.queue, counted_queues(snapshot))
    reason = _known(after.reason)
    if before.placement is None and after.placement is not None:
        metrics.ADMITTED_JOBS.labels(queue).inc()
        created = step.job.resource.metadata.creation_timestamp
        if created is not None:
            waited = (snapshot.now - created).total_seconds()
            metrics.ADMISSION_WAIT.labels(queue).observe(max(0.0, waited))
    if before.placement is not None and after.placement is None and reason in TAKEN:
        metrics.PREEMPTED_JOBS.labels(queue, reason).inc()
    lost = _lost_gpu_seconds(step, snapshot)
    if lost:
        metrics.LOST_GPU_SECONDS.labels(queue, reason or "").inc(lost)
    for event in step.events:
        if event.reason is Reason.STRAGGLER_FOUND:
            metrics.STRAGGLERS.labels("Found").inc()
        if event.reason is Reason.STRAGGLER_REPLACED:
            metrics.STRAGGLERS.labels("Replaced").inc()
    if after.reason != before.reason and after.reason in _ENDS:
        metrics.FINISHED_JOBS.labels(queue, _ENDS[after.reason]).inc()


def count_jobs(snapshot: Snapshot) -> None:
    """Set how many jobs there are, wait and run, by queue."""
    queues = counted_queues(snapshot)
    pending: Counter[tuple[str, str]] = Counter()
    running: Counter[str] = Counter()
    all_jobs: Counter[tuple[str, ...]] = Counter()
    for queue in queues:
        running[queue] = pending[queue, "active"] = pending[queue, "inadmissible"] = 0
    for each, number in Counter(map(_labels, snapshot.jobs)).items():
        queue = counted_as(each.queue, queues)
        all_jobs[queue, each.kind, each.state, each.reason] += number
        if each.state == "Running":
            running[queue] += number
        if each.state == "Waiting":
            is_inadmissible = each.reason in INADMISSIBLE
            pending[queue, "inadmissible" if is_inadmissible else "active"] += number
    forget_jobs()
    for gauge, numbers in ((metrics.PENDING_JOBS, pending), (metrics.JOBS, all_jobs)):
        for labels, number in numbers.items():
            gauge.labels(*labels).set(number)
    for queue, number in running.items():
        metrics.RUNNING_JOBS.labels(queue).set(number)


def forget_jobs() -> None:
    """Clear the job counts: another replica reports them now, and sums must be right."""
    metrics.PENDING_JOBS.clear()
    metrics.RUNNING_JOBS.clear()
    metrics.JOBS.clear()


@once_for_each
def _labels(job: JobView) -> _Labels:
    resource = job.resource
    reason = _known(resource.status.reason) or ""
    return _Labels(resource.spec.queue, resource.kind, _state(job), reason)


def _known(reason: str | None) -> Reason | None:
    """The reason of a status; None if this version does not know it, as a newer one may have."""
    return Reason(reason) if reason in _REASONS else None


def _state(job: JobView) -> JobState:
    if job.is_over or has_succeeded(job):
        return "Finished"
    if job.resource.metadata.deletion_timestamp is not None:
        return "Deleting"
    if not wants_place(job):
        return "Suspended"
    return "Waiting" if job.resource.status.placement is None else "Running"


def _lost_gpu_seconds(step: Step, snapshot: Snapshot) -> float:
    """The work that a step throws away if it stops a gang that trains and is not over."""
    job, after = step.job.training, step.status
    if job is None or not isinstance(after, TrainingJobStatus):
        return 0
    is_stopped = job.status.started_time is not None and after.started_time is None
    if not is_stopped or after.finished_time is not None or job.status.placement is None:
        return 0
    gpus = job.spec.milli_gpus_by_role
    places = job.status.placement.assignments
    milli = sum(gpus.get(each.role, 0) * len(each.nodes) for each in places)
    return restart_seconds(job, snapshot.now) * milli / WHOLE_GPU_MILLI
