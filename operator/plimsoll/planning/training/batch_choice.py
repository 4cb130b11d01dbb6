"""Choose a placement's batch: the one with the highest goodput there.

Workers learn their batch at the start, so changing it costs a restart, which it has to pay back.
Those that can change it as they train say so, and for them any better batch pays.
"""

import math
from datetime import datetime
from typing import Final, NamedTuple

from plimsoll.api.parts.batch import PlacedBatch
from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.training.batch_limits import least_batch
from plimsoll.planning.training.expected_end import seconds_left
from plimsoll.planning.training.goodput import GoodputTerms
from plimsoll.planning.training.rates import changes_batch_live, known_goodput
from plimsoll.planning.training.stopping import HORIZON_SECONDS, restart_seconds
from plimsoll.remembered import once_for_each
from plimsoll_placement.estimate.throughput.best_batch import Division

LEAST_GAIN: Final = 1.05
"""How much more another batch must get done, restart included: measurements are not exact."""
LEAST_LIVE_GAIN: Final = 1.02
"""The same where it costs nothing: so that not every report changes the batch."""


def chosen_batch(job: TrainingJob, gpu_type: str, workers: int) -> PlacedBatch | None:
    """A placement's batch: the one with the highest goodput; None for a job without one.

    While the gradient noise is unknown, it is the smallest.
    """
    size, terms = (gpu_type, workers), GoodputTerms.of(job)
    if terms is None:
        found = least_batch(job, gpu_type, workers)
    else:
        found = known_goodput(job, terms, [workers]).best([size]).get(size)
    return None if found is None else _divided(found)


def better_batch(job: TrainingJob, now: datetime) -> PlacedBatch | None:
    """A batch worth restarting a running job in place for; None if there is none.

    It has to pay back within the plan's horizon, and before the job is done.
    """
    best = None if changes_batch_live(job) else _best_batch(job)
    if best is None:
        return None
    left = seconds_left(job, now)
    lasts = HORIZON_SECONDS if left is None else min(left, HORIZON_SECONDS)
    trains = lasts - restart_seconds(job, now)
    return best.batch if trains > 0 and best.gain * trains > LEAST_GAIN * lasts else None


def may_restart_for_batch(job: TrainingJob) -> bool:
    """Whether a job may come to be restarted for a better batch, as only plans decide."""
    batch = job.spec.batch
    return batch is not None and batch.max_size is not None and not changes_batch_live(job)


@once_for_each
def better_live_batch(job: TrainingJob) -> PlacedBatch | None:
    """A batch that workers who change it as they train should change to; None if there is none."""
    best = _best_batch(job) if changes_batch_live(job) else None
    return best.batch if best is not None and best.gain > LEAST_LIVE_GAIN else None


class _Best(NamedTuple):
    """Another batch for a running job, and how many times as much it gets done with it."""

    batch: PlacedBatch
    gain: float


def _best_batch(job: TrainingJob) -> _Best | None:
    """The best batch where the job runs; None if it has it already or none is known."""
    placement, terms = job.status.placement, GoodputTerms.of(job)
    if placement is None or placement.batch is None or terms is None:
        return None
    size = (placement.accelerator_type, placement.workers)
    if size[0] not in terms.limits:  # no longer in the spec: it is about to move
        return None
    known = known_goodput(job, terms, [placement.workers])
    found = known.best([size]).get(size)
    if found is None or found.size == placement.batch.size:
        return None
    present = known.rate(size, placement.batch.size)
    gain = known.rate(size, found.size) / present if present > 0 else math.inf
    return _Best(_divided(found), gain)


def _divided(division: Division) -> PlacedBatch:
    return PlacedBatch(size=division.size, local=division.local_batch, accumulation=division.passes)
