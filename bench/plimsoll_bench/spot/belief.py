"""What has been seen of a pool's spot capacity, and how likely that makes each model of its runs.

A model says how much sooner than usual runs up end: a factor on their hazards. That a run of many
steps has ended counts as one end against the expected number of ends, the sum of its hazards:
Poisson's likelihood. What was seen long ago counts less, since pools change. Learning runs down
likewise was tried, and improved nothing.
"""

from dataclasses import dataclass

import numpy as np

from plimsoll_bench.spot.runs import DOWN, UP, UP_PRIOR, Floats, bucket_of

FACTORS = (0.4, 1.0, 2.5)
"""The models."""
FACTOR_SPREAD = 0.4
"""The standard deviation of the logarithm of the factor, from pool to pool."""
REMEMBERED = 0.99
"""What an observation still counts a step later: half after twelve hours."""
AGE_WHEN_FIRST_SEEN = 6
"""The age in steps of the run in which spot is first seen: most steps lie in long runs."""

_LOGARITHMS = np.log(np.array(FACTORS))
_EXPECTED: tuple[float, ...] = tuple(UP_PRIOR.by_bucket().tolist())


@dataclass(frozen=True, slots=True)
class Belief:
    """What is known of spot from what was seen.

    `side` is where it is now, and `age` for how many steps. `ended` are the runs up that ended, and
    `expected` how many should have ended by the prior.
    """

    side: int
    age: int
    ended: float = 0.0
    expected: float = 0.0

    @classmethod
    def at_first(cls, *, spot_is_up: bool) -> "Belief":
        """What is known at the first look."""
        return cls(UP if spot_is_up else DOWN, AGE_WHEN_FIRST_SEEN)

    def a_step_later(self, *, spot_is_up: bool) -> "Belief":
        """What is known after the next look."""
        side = UP if spot_is_up else DOWN
        was_up, changed = self.side == UP, side != self.side
        return Belief(
            side=side,
            age=1 if changed else self.age + 1,
            ended=self.ended * REMEMBERED + (was_up and changed),
            expected=self.expected * REMEMBERED + (_EXPECTED[self.bucket] if was_up else 0),
        )

    @property
    def bucket(self) -> int:
        """The bucket of the age."""
        return bucket_of(self.age)

    def weights(self) -> Floats:
        """How likely each of `FACTORS` is; the sum is 1."""
        prior = -0.5 * (_LOGARITHMS / FACTOR_SPREAD) ** 2
        likely = prior + self.ended * _LOGARITHMS - self.expected * np.exp(_LOGARITHMS)
        weights = np.exp(likely - likely.max())
        return weights / weights.sum()
