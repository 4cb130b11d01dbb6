"""What has been seen of a pool's spot, and how likely each model of its runs is by that.

A model says how much sooner than usual runs end, a factor for runs down and one for runs up. That
a run of many steps has ended once counts as one end against the ends that were to be expected, the
sum of its hazards: Poisson's likelihood. What was seen long ago counts less, since pools change.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from plimsoll_placement.spot.runs import DOWN, DOWN_PRIOR, UP, UP_PRIOR, Floats, bucket_of

FACTORS = (0.4, 1.0, 2.5)
MODELS = tuple(product(FACTORS, FACTORS))
"""The factors on runs down and on runs up."""
FACTOR_SPREAD = 0.4
"""The standard deviation of the logarithm of a factor, from pool to pool."""
REMEMBERED = 0.99
"""What an observation still counts a step later: half after twelve hours."""
AGE_WHEN_FIRST_SEEN = 6
"""The age in steps of the run in which spot is first seen: most steps lie in long runs."""

_EXPECTED = (DOWN_PRIOR.by_bucket().tolist(), UP_PRIOR.by_bucket().tolist())


@dataclass(frozen=True, slots=True)
class Seen:
    """Ends of runs of one kind that were seen, and how many the prior expected."""

    ended: float = 0.0
    expected: float = 0.0

    def faded(self) -> "Seen":
        """The same a step later."""
        return Seen(self.ended * REMEMBERED, self.expected * REMEMBERED)


@dataclass(frozen=True, slots=True)
class Belief:
    """What is known of spot by what was seen: its side now, since when, and the ends of runs."""

    side: int
    age: int
    down: Seen = Seen()
    up: Seen = Seen()

    @classmethod
    def at_first(cls, *, spot_is_up: bool) -> "Belief":
        """What is known at the first look."""
        return cls(UP if spot_is_up else DOWN, AGE_WHEN_FIRST_SEEN)

    def a_step_later(self, *, spot_is_up: bool) -> "Belief":
        """What is known after the next look."""
        side = UP if spot_is_up else DOWN
        ended = side != self.side
        was = (self.up if self.side == UP else self.down).faded()
        other = (self.down if self.side == UP else self.up).faded()
        hazard = _EXPECTED[self.side][self.bucket]
        was = replace(was, ended=was.ended + ended, expected=was.expected + hazard)
        down, up = (other, was) if self.side == UP else (was, other)
        return Belief(side, 1 if ended else self.age + 1, down, up)

    @property
    def bucket(self) -> int:
        """The bucket of the age."""
        return bucket_of(self.age)

    def weights(self, models: Sequence[tuple[float, float]] = MODELS) -> Floats:
        """How likely each model is; the sum is 1."""
        factors = np.log(np.array(models))
        likely = -0.5 * (factors**2).sum(axis=1) / FACTOR_SPREAD**2
        for side, seen in ((DOWN, self.down), (UP, self.up)):
            of_side = factors[:, side]
            likely += seen.ended * of_side - seen.expected * np.exp(of_side)
        weights = np.exp(likely - likely.max())
        return weights / weights.sum()
