"""Count completed steps: jobs admitted, preempted and finished, waiting and running.

Anybody who may create a job may write any queue name into it. Only existing queues get series of
their own, so that nobody can make the metrics grow without bound.
"""

from collections import Counter
from typing import Final

from plimsoll.acting.step import Step
from plimsoll.observe.queue_access import DEFAULT_QUEUE
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.problem.build import wants_place
from plimsoll.vocabulary import metrics
from plimsoll.vocabulary.reasons import Reason

_TAKEN = {
    Reason.PREEMPTED,
    Reason.RECLAIMED,
    Reason.NODE_LEFT,
    Reason.NODE_UNREACHABLE,
    Reason.EVICTED,
}
_INADMISSIBLE = {
    Reason.CANNOT_FIT,
    Reason.NO_ELIGIBLE_NODE,
    Reason.QUEUE_NOT_FOUND,
    Reason.QUEUE_NOT_ALLOWED,
    Reason.PRIORITY_NOT_ALLOWED,
    Reason.PRIORITY_CLASS_NOT_FOUND,
    Reason.INVALID_SPEC,
    Reason.MANAGED_ELSEWHERE,
    Reason.POD_REFUSED,
    Reason.PODS_READY_TIMEOUT,
    Reason.NODE_UNREACHABLE,
}
UNKNOWN_QUEUE: Final = "(unknown)"
"""The label of jobs whose queue does not exist; no queue can have this name."""


def count(step: Step, snapshot: Snapshot) -> None:
    """Count what a completed step did."""
    before, after = step.job.resource.status, step.status
    queue = _counted_as(step.job.resource.spec.queue, _queues(snapshot))
    reason = Reason(after.reason) if after.reason else None
    if before.placement is None and after.placement is not None:
        metrics.ADMITTED_JOBS.labels(queue).inc()
        created = step.job.resource.metadata.creation_timestamp
        if created is not None:
            waited = (snapshot.now - created).total_seconds()
            metrics.ADMISSION_WAIT.labels(queue).observe(max(0.0, waited))
    if before.placement is not None and after.placement is None and reason in _TAKEN:
        metrics.PREEMPTED_JOBS.labels(reason).inc()
    for event in step.events:
        if event.reason is Reason.STRAGGLER_FOUND:
            metrics.STRAGGLERS.labels("Found").inc()
        if event.reason is Reason.STRAGGLER_REPLACED:
            metrics.STRAGGLERS.labels("Replaced").inc()
    if reason is not before.reason and reason in (Reason.COMPLETED, Reason.BACKOFF_LIMIT_EXCEEDED):
        result = "Completed" if reason is Reason.COMPLETED else "Failed"
        metrics.FINISHED_JOBS.labels(result).inc()


def count_jobs(snapshot: Snapshot) -> None:
    """Set how many jobs wait and run, by queue."""
    pending: Counter[tuple[str, str]] = Counter()
    running: Counter[str] = Counter()
    queues = _queues(snapshot)
    for job in snapshot.jobs:
        status = job.resource.status
        if not wants_place(job):
            continue
        queue = _counted_as(job.resource.spec.queue, queues)
        if status.placement is not None:
            running[queue] += 1
        else:
            pending[queue, "inadmissible" if status.reason in _INADMISSIBLE else "active"] += 1
    forget_jobs()
    for labels, number in pending.items():
        metrics.PENDING_JOBS.labels(*labels).set(number)
    for queue, number in running.items():
        metrics.RUNNING_JOBS.labels(queue).set(number)


def forget_jobs() -> None:
    """Clear the job counts: another replica reports them now, and sums must be right."""
    metrics.PENDING_JOBS.clear()
    metrics.RUNNING_JOBS.clear()


def _queues(snapshot: Snapshot) -> frozenset[str]:
    return frozenset({DEFAULT_QUEUE, *(queue.metadata.name for queue in snapshot.queues)})


def _counted_as(queue: str, queues: frozenset[str]) -> str:
    return queue if queue in queues else UNKNOWN_QUEUE
