"""How much does a waiting training job count beside others of its priority? More as time runs out.

Two things press: its deadline, the more of the time until then the work would take, and how long it
has waited. Room for a large gang among small jobs does not come of that: see `reservation`.
"""

from datetime import datetime, timedelta

from plimsoll.api.parts.conditions import condition
from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.training.expected_end import time_left

PLAIN_MILLI = 1000
STEP_MILLI = 250
"""Urgency goes in steps, lest each minute be a reason to plan anew."""
MOST_STEPS = 4
"""Either of the two at most doubles what a job counts."""
PATIENCE = timedelta(hours=6)
"""A job gains a step each time that it has waited for so long."""
EASY = 0.5
"""As long as work takes no more of the time until its deadline, nothing presses."""


def urgency_milli(job: TrainingJob, now: datetime) -> int:
    """The urgency of a job that waits, in thousandths: 1000 is plain, 3000 the most."""
    if job.status.placement is not None:
        return PLAIN_MILLI
    return PLAIN_MILLI + STEP_MILLI * (_deadline_steps(job, now) + _waiting_steps(job, now))


def _deadline_steps(job: TrainingJob, now: datetime) -> int:
    left = time_left(job, now)
    if left is None or left.work_seconds <= 0:
        return 0
    if left.seconds <= left.work_seconds:
        return MOST_STEPS
    share = left.work_seconds / left.seconds
    return int(max(0.0, share - EASY) / (1 - EASY) * MOST_STEPS)


def _waiting_steps(job: TrainingJob, now: datetime) -> int:
    admitted = condition(job.status.conditions, "Admitted")
    since = admitted.last_transition_time if admitted else job.metadata.creation_timestamp
    return 0 if since is None else min(MOST_STEPS, max(0, (now - since) // PATIENCE))
