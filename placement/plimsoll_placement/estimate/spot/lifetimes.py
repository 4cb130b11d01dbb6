"""How long spot stays up and how long it stays down: its runs, as hazards by age.

A run ends in the next ten minutes with a probability that falls with its age: what has lasted long
tends to last. A power of the age describes that well, across pools and for both kinds of run; pools
differ most by a factor on it for runs up, which `belief` learns. Ages are counted in buckets that
double in width, and within a bucket a run grows older by chance, so that a few buckets suffice.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEP_SECONDS = 600.0
FIRST_AGES = (1, 2, 3, 5, 9, 17, 33, 65)
"""The first age of each bucket, in steps of ten minutes; a run is of age 1 in its first step."""
BUCKETS = len(FIRST_AGES)
DOWN, UP = 0, 1
MOST_HAZARD = 0.95
_MIDDLE_AGES = np.array([1, 2, 3.5, 6.5, 12.5, 24.5, 48.5, 110])


@dataclass(frozen=True, slots=True)
class PowerHazard:
    """The probability that a run ends in its next ten-minute step: `scale` × age ** -`decay`."""

    scale: float
    decay: float

    def by_bucket(self, factor: float = 1.0) -> Floats:
        """The probability by age bucket, times a factor; never certain."""
        return np.minimum(self.scale * factor * _MIDDLE_AGES**-self.decay, MOST_HAZARD)


# Chosen by the cost of jobs of one GPU and of eight on recorded runs of eight pools of one
# provider. Costs vary little around these values.
DOWN_PRIOR = PowerHazard(scale=0.4, decay=0.8)
UP_PRIOR = PowerHazard(scale=0.27, decay=0.45)

_EXPECTED: tuple[float, ...] = tuple(UP_PRIOR.by_bucket().tolist())


def bucket_at(seconds: float) -> int:
    """The bucket of a run that has lasted for so long."""
    return bisect_right(FIRST_AGES, int(max(seconds, 0.0) // STEP_SECONDS) + 1) - 1


def expected_ends(since_seconds: float, until_seconds: float) -> float:
    """How often runs up of these ages should have ended by the prior: the sum of their hazards."""
    found = 0.0
    for bucket, hazard in enumerate(_EXPECTED):
        first = (FIRST_AGES[bucket] - 1) * STEP_SECONDS
        last = (FIRST_AGES[bucket + 1] - 1) * STEP_SECONDS if bucket + 1 < BUCKETS else np.inf
        inside = min(until_seconds, last) - max(since_seconds, first)
        found += hazard * max(0.0, inside) / STEP_SECONDS
    return found


def growing() -> Floats:
    """By bucket, the probability that a run that goes on is in the next bucket a step later."""
    widths = np.diff(np.array(FIRST_AGES, dtype=np.float64))
    return np.append(1 / widths, 0.0)


def hazards(factors: Sequence[float]) -> Floats:
    """Hazards by model, side and bucket; a model is a factor on how soon runs up end."""
    return np.array([[DOWN_PRIOR.by_bucket(), UP_PRIOR.by_bucket(each)] for each in factors])
