"""Raise the urgency of a waiting training job among others of its priority as time runs out.

Two factors count: its deadline, by the share of the remaining time that the work would take, and
how long it has waited. Neither makes room for a large gang among small jobs: see
`quota/reservation.py`.
"""

from datetime import datetime, timedelta

from plimsoll.api.parts.conditions import condition
from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.training.expected_end import time_left

PLAIN_MILLI = 1000
STEP_MILLI = 250
"""Urgency goes in steps, so that not every minute triggers a new plan."""
MOST_STEPS = 4
"""Each of the two at most doubles a job's weight."""
PATIENCE = timedelta(hours=6)
"""A job gains a step each time it has waited for this long."""
EASY = 0.5
"""Below this share of the time until the deadline, nothing presses."""


def urgency_milli(job: TrainingJob, now: datetime) -> int:
    """The urgency of a waiting job, in thousandths: 1000 is normal, 3000 the most."""
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
    return waiting_steps(since, now)


def waiting_steps(since: datetime | None, now: datetime) -> int:
    """How many steps of urgency a job has gained that has waited since then."""
    return 0 if since is None else min(MOST_STEPS, max(0, (now - since) // PATIENCE))
