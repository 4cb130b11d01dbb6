"""Compute the cost of stopping a job now, in seconds of work of each GPU that it holds."""

from datetime import datetime, timedelta

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.training_job import TrainingJob

WEEK = timedelta(days=7)
"""A longer checkpoint interval means no checkpoints, and costs no more."""
REPLICA_START_SECONDS = 60
"""The assumed cost of moving a replica until its start has been measured."""


def stop_seconds(resource: TrainingJob | InferenceJob, now: datetime) -> int:
    """The cost of stopping a job, of either kind."""
    if isinstance(resource, TrainingJob):
        return restart_seconds(resource, now)
    return REPLICA_START_SECONDS


def restart_seconds(job: TrainingJob, now: datetime) -> int:
    """Seconds of work that a stop costs each GPU: saving, restoring, and unsaved work.

    Time counts in whole minutes, the same for all jobs, so that no plan is made anew sooner.
    """
    checkpoint, status = job.spec.checkpoint, job.status
    fixed = checkpoint.save_seconds + checkpoint.restore_seconds
    started = status.started_time
    if started is None:
        return fixed
    saved = status.progress.last_checkpoint if status.progress else None
    minute = now.replace(second=0, microsecond=0)
    since = (minute - max(started, saved or started)).total_seconds()
    return fixed + int(min(max(since, 0.0), checkpoint.interval.total_seconds()))
