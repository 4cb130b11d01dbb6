"""How long spot stays up and how long it stays down: its runs, as hazards by age.

A run ends in the next step with a probability that falls with its age: what has lasted long tends
to last. A power of the age describes that well, across pools and for both kinds of run; pools
differ most by a factor on it for runs up, which `belief` learns. Ages are counted in buckets that
double in width, and within a bucket a run grows older by chance, so that a few buckets suffice.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FIRST_AGES = (1, 2, 3, 5, 9, 17, 33, 65)
"""The first age of each bucket, in steps of ten minutes."""
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


def bucket_of(age: int) -> int:
    """The bucket of an age, in steps."""
    return bisect_right(FIRST_AGES, age) - 1


def growing() -> Floats:
    """By bucket, the probability that a run that goes on is in the next bucket a step later."""
    widths = np.diff(np.array(FIRST_AGES, dtype=np.float64))
    return np.append(1 / widths, 0.0)


def hazards(factors: Sequence[float]) -> Floats:
    """Hazards by model, side and bucket; a model is a factor on how soon runs up end."""
    return np.array([[DOWN_PRIOR.by_bucket(), UP_PRIOR.by_bucket(each)] for each in factors])
