"""Decide which changes of a job's placement count as disturbances, by its rules and the policy's.

Changes that the plan chose count. Those forced by notices, faults or power do not, nor do those
that the job's own user caused: budgets are shared, and a user who keeps editing a job could exhaust
them alone. So whatever happens to a job whose spec was edited since it was placed is put down to
that edit, unless it yields to others: then they disturb it, whatever its user did.
"""

from datetime import datetime, timedelta
from typing import Final, TypeVar, assert_never

from plimsoll.acting.conditions.conditions import whole_second
from plimsoll.api.kinds import Job, JobStatus
from plimsoll.api.parts.disruption import LostWork
from plimsoll.api.training_job import TrainingJob, TrainingJobStatus
from plimsoll.api.values.scalars import MOST_COUNTED
from plimsoll.planning.actions import Migrate, Preempt, Resize
from plimsoll.planning.training.batch_limits import allowed_counts
from plimsoll.vocabulary.reasons import Reason

S = TypeVar("S", bound=JobStatus)
_DAY: Final = timedelta(hours=24)
_MOST: Final = 256


def disturbed(status: S, job: Job, action: Resize | Migrate | Preempt, now: datetime) -> S:
    """The status with one more disturbance, and the work that it loses, if the action is one."""
    is_forced = action.reason is Reason.NODE_LEFT or action.power_domain
    if is_forced or is_own_doing(job, action):
        return status
    recent = [at for at in status.disruption_times if now - at < _DAY]
    times = (*recent, whole_second(now))[-_MOST:]
    update: dict[str, object] = {"disruption_times": times}
    if isinstance(status, TrainingJobStatus):
        update["lost_work"] = _lost_work(status, action, now)
    return status.model_copy(update=update)


def _lost_work(
    status: TrainingJobStatus, action: Resize | Migrate | Preempt, now: datetime
) -> tuple[LostWork, ...]:
    recent = [each for each in status.lost_work if now - each.time < _DAY]
    lost = 0 if isinstance(action, Resize) else action.lost_gpu_seconds
    if lost:
        recent.append(LostWork(time=whole_second(now), gpu_seconds=min(lost, MOST_COUNTED)))
    return tuple(recent[-_MOST:])


def is_own_doing(job: Job, action: Resize | Migrate | Preempt) -> bool:
    """Whether a change follows from the user's own edits of the job's spec."""
    match action:
        case Resize():
            return _is_too_large_or_small(job) or (_is_edited(job) and _grows(job, action))
        case Migrate():
            return _is_edited(job)
        case Preempt():
            return _is_edited(job) and not action.winners and not action.power_domain
        case _:
            assert_never(action)


def _is_edited(job: Job) -> bool:
    """Whether the spec has changed since the job was placed."""
    placement = job.status.placement
    known = placement.generation if placement else None
    return known is not None and known != job.metadata.generation


def _is_too_large_or_small(job: Job) -> bool:
    """Whether a gang has a size that its spec does not allow."""
    if not isinstance(job, TrainingJob) or job.status.placement is None:
        return False
    return job.status.placement.workers not in allowed_counts(job)


def _grows(job: Job, action: Resize) -> bool:
    placement = job.status.placement
    return placement is not None and len(action.assignments) > len(placement.assignments)
