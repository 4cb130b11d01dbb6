"""What has become of each job and of each budget, as far as somebody may wait for it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import Job
from plimsoll.api.parts.conditions import condition, is_true
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.vocabulary.reasons import INADMISSIBLE, Reason
from plimsoll_console.notifications.budgets import spending

SETTLED: Final = timedelta(minutes=1)
"""For how long a job must have been unable to run: it may only await its nodes or its queue."""
_GAVE_UP: Final = frozenset({Reason.SUSPENDED, Reason.SCALED_TO_ZERO})
"""Why a job has no place although nobody took it."""


class Kind(StrEnum):
    """What has happened; the last part of a CloudEvent's type."""

    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"
    PREEMPTED = "preempted"
    CANNOT_RUN = "cannotrun"
    BUDGET_USED = "budgetused"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something that has happened to a job, or to a queue's budget, and is still so.

    `subject` is the object as `Kind/namespace/name` or `Kind/name`. What an object does not say the
    time of is told once a day at most: `at` is then the beginning of the day, in UTC.
    """

    kind: Kind
    subject: str
    uid: str
    queue: str
    at: datetime
    reason: str = ""
    message: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])


def occurrences(snapshot: Snapshot) -> Iterator[Occurrence]:
    """What has last happened to each object; at most one of each."""
    for job in snapshot.jobs:
        for kind, at in _candidates(job, snapshot.now):
            if at is not None:
                yield _of_job(job.resource, kind, at)
                break
    yield from _of_budgets(snapshot)


def _candidates(view: JobView, now: datetime) -> Iterator[tuple[Kind, datetime | None]]:
    """What may have happened to a job, the latest first, and when; None: it has not."""
    job, status = view.resource, view.resource.status
    yield Kind.FAILED, _since(job, "Failed", "True")
    yield Kind.COMPLETED, _since(job, "Complete", "True")
    if is_true(status.conditions, "Running"):
        yield Kind.STARTED, _started(job)
    if status.placement is not None or status.reason in _GAVE_UP or job.spec.suspend:
        return
    waits_since = _since(job, "Admitted", "False")
    if status.reason in INADMISSIBLE and waits_since and now - waits_since >= SETTLED:
        yield Kind.CANNOT_RUN, waits_since
    if status.revision:
        yield Kind.PREEMPTED, waits_since


def _started(job: Job) -> datetime | None:
    """When a job began to run: a gang with its last worker, a service with its first replicas."""
    if isinstance(job, InferenceJob):
        return _since(job, "Running", "True")
    return job.status.started_time


def _since(job: Job, kind: str, status: str) -> datetime | None:
    found = condition(job.status.conditions, kind)
    return found.last_transition_time if found is not None and found.status == status else None


def _of_job(job: Job, kind: Kind, at: datetime) -> Occurrence:
    return Occurrence(
        kind=kind,
        subject=f"{job.kind}/{job.metadata.namespace}/{job.metadata.name}",
        uid=job.metadata.uid,
        queue=job.spec.queue,
        at=at,
        reason=job.status.reason,
        message=job.status.message,
    )


def _of_budgets(snapshot: Snapshot) -> Iterator[Occurrence]:
    """The budgets for nodes of which nothing, or next to nothing, is left."""
    day = snapshot.now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    uids = {queue.metadata.name: queue.metadata.uid for queue in snapshot.queues}
    for name, spent in spending(snapshot).items():
        if spent.is_used:
            yield Occurrence(
                kind=Kind.BUDGET_USED,
                subject=f"JobQueue/{name}",
                uid=uids[name],
                queue=name,
                at=day,
                message=f"{spent.per_hour:.2f} of {spent.most_per_hour:.2f} an hour are spent on"
                " nodes that were bought",
                numbers={
                    "perHour": float(spent.per_hour),
                    "mostPerHour": float(spent.most_per_hour),
                },
            )
