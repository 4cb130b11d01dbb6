"""Compute what stopping a job now costs, in seconds of work of each GPU that it holds.

A stop must also pay back before the job is done: the gain of a change lasts as long as the job, and
its cost is paid at once. A job with W seconds left as it is, stopped for S of them, trains for
W - S instead: its change pays if it does more in these than it would have done in W. A plan counts
gains over a horizon of H seconds, so the stop counts as S x H / (W - S) there. This also makes it
more expensive to stop or shrink the job for others: in W seconds they have its GPUs anyway.

A gain also ends with the next change. What has been left alone for a while is taken to be left
alone for as long again, so what was just changed is changed again only for much.
"""

from datetime import datetime, timedelta
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.training.expected_end import seconds_left
from plimsoll.rounding import in_tenths
from plimsoll_placement.model import Weights

WEEK = timedelta(days=7)
"""A longer checkpoint interval means no checkpoints, and costs no more."""
REPLICA_START_SECONDS = 60
"""The assumed cost of moving a replica until its start has been measured."""
HORIZON_SECONDS: Final = Weights().horizon_seconds
MOST_HORIZONS: Final = 100
"""The cap on a stop's cost: a job's expected end may be wrong, and others have work too."""
LEAST_BETWEEN_CHANGES: Final = timedelta(minutes=10)
"""What has just been changed is taken to be changed again no sooner."""


def stop_seconds(resource: TrainingJob | InferenceJob, now: datetime) -> int:
    """The cost of stopping a job, of either kind."""
    if isinstance(resource, TrainingJob):
        return restart_seconds(resource, now)
    return replica_stop_seconds(resource, now)


def replica_stop_seconds(job: InferenceJob, now: datetime) -> int:
    """What a plan counts for the stop of a replica; in steps of a tenth, as below."""
    moved = max(job.status.disruption_times, default=None)
    if moved is None:
        return REPLICA_START_SECONDS
    return round(REPLICA_START_SECONDS * HORIZON_SECONDS / _lasts_seconds(now - moved))


def restart_seconds(job: TrainingJob, now: datetime) -> int:
    """Seconds of work that a stop costs each GPU: saving, restoring, and unsaved work.

    Workers that saved when they last had a notice will do so again, and then nothing is unsaved.
    Time counts in whole minutes, the same for all jobs, so that no plan is made anew sooner.
    """
    checkpoint, status = job.spec.checkpoint, job.status
    fixed = checkpoint.save_seconds + checkpoint.restore_seconds
    started, progress = status.started_time, status.progress
    if started is None or (progress is not None and progress.saves_on_notice):
        return fixed
    saved = progress.last_checkpoint if progress else None
    minute = now.replace(second=0, microsecond=0)
    since = (minute - max(started, saved or started)).total_seconds()
    return fixed + int(min(max(since, 0.0), checkpoint.interval.total_seconds()))


def payback_seconds(job: TrainingJob, cost_seconds: int, now: datetime) -> int | None:
    """What a plan counts for a stop of so many seconds; None if it counts as it is.

    A job that should be done by now is taken to be done at once. Like the cost of a stop, it
    changes with whole minutes, and in steps of a tenth.
    """
    minute = now.replace(second=0, microsecond=0)
    left = seconds_left(job, minute)
    # Its place may become better while its pods start; it has been changed just now all the same.
    since = job.status.started_time or job.status.admitted_time
    trains = HORIZON_SECONDS if since is None else round(_lasts_seconds(minute - since))
    if left is not None and (left := round(in_tenths(left))) < HORIZON_SECONDS:
        trains = min(trains, max(left - cost_seconds, 1))
    if trains >= HORIZON_SECONDS:
        return None
    return min(cost_seconds * HORIZON_SECONDS // trains, MOST_HORIZONS * HORIZON_SECONDS)


def _lasts_seconds(left_alone: timedelta) -> float:
    """How long what was left alone for so long will be left alone, up to the horizon."""
    return min(in_tenths(max(left_alone, LEAST_BETWEEN_CHANGES).total_seconds()), HORIZON_SECONDS)
