"""Weigh the cost of stopping a job that is soon done: it must pay back before the end.

The gain of a change lasts as long as the job; its cost is paid at once. A job with W seconds left
as it is, stopped for S of them, trains for W - S instead: its change pays if it does more in these
than it would have done in W. A plan counts gains over a horizon of H seconds, so the stop counts as
S x H / (W - S) there. This also makes it more expensive to stop or shrink the job for others: in W
seconds they have its GPUs anyway.
"""

from datetime import datetime
from typing import Final

from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.rounding import in_tenths
from plimsoll.planning.training.expected_end import seconds_left
from plimsoll_placement.model import Weights

HORIZON_SECONDS: Final = Weights().horizon_seconds
MOST_HORIZONS: Final = 100
"""The cap on a stop's cost: a job's expected end may be wrong, and others have work too."""


def payback_seconds(job: TrainingJob, stop_seconds: int, now: datetime) -> int | None:
    """What a plan counts for a stop of so many seconds; None if the end is far off or unknown.

    A job that should be done by now is taken to be done at once. Like the cost of a stop, it
    changes with whole minutes, and in steps of a tenth.
    """
    left = seconds_left(job, now.replace(second=0, microsecond=0))
    return None if left is None else _weighed(stop_seconds, round(in_tenths(left)))


def _weighed(stop_seconds: int, left: int) -> int | None:
    if left >= HORIZON_SECONDS:
        return None
    trains = max(left - stop_seconds, 1)
    return min(stop_seconds * HORIZON_SECONDS // trains, MOST_HORIZONS * HORIZON_SECONDS)
