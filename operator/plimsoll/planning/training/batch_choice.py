"""Choose a placement's batch: the one with the highest goodput there.

Workers learn their batch at the start, so changing it costs a restart, which it has to pay back.
"""

from datetime import datetime
from typing import Final

from plimsoll.api.parts.batch import PlacedBatch
from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.training.batch_limits import least_batch
from plimsoll.planning.training.expected_end import seconds_left
from plimsoll.planning.training.goodput import GoodputTerms
from plimsoll.planning.training.rates import known_goodput
from plimsoll.planning.training.stopping import HORIZON_SECONDS, restart_seconds
from plimsoll_placement.estimate.throughput.best_batch import Division

LEAST_GAIN: Final = 1.05
"""How much more another batch must get done, restart included: measurements are not exact."""


def chosen_batch(job: TrainingJob, gpu_type: str, workers: int) -> PlacedBatch | None:
    """A placement's batch: the one with the highest goodput; None for a job without one.

    While the gradient noise is unknown, it is the smallest.
    """
    terms = GoodputTerms.of(job)
    if terms is None:
        return _placed(least_batch(job, gpu_type, workers))
    size = (gpu_type, workers)
    return _placed(known_goodput(job, terms, [workers]).best([size]).get(size))


def better_batch(job: TrainingJob, now: datetime) -> PlacedBatch | None:
    """A batch worth restarting a running job in place for; None if there is none.

    It has to pay back within the plan's horizon, and before the job is done.
    """
    placement, terms = job.status.placement, GoodputTerms.of(job)
    if placement is None or placement.batch is None or terms is None:
        return None
    size = (placement.accelerator_type, placement.workers)
    known = known_goodput(job, terms, [placement.workers])
    found = known.best([size]).get(size)
    if found is None or found.size == placement.batch.size:
        return None
    left = seconds_left(job, now)
    lasts = HORIZON_SECONDS if left is None else min(left, HORIZON_SECONDS)
    trains = lasts - restart_seconds(job, now)
    now_done = known.rate(size, placement.batch.size) * lasts
    pays = trains > 0 and known.rate(size, found.size) * trains > LEAST_GAIN * now_done
    return _placed(found) if pays else None


def _placed(division: Division | None) -> PlacedBatch | None:
    if division is None:
        return None
    return PlacedBatch(size=division.size, local=division.local_batch, accumulation=division.passes)
