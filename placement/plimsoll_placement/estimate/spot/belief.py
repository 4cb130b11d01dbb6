"""What has been seen of a pool's spot capacity, and how likely that makes each model of its runs.

A model says how much sooner than usual runs up end: a factor on their hazards. That a run has ended
counts as one end against the expected number of ends, the sum of its hazards: Poisson's likelihood.
What was seen long ago counts less, since pools change. Learning runs down likewise was tried, and
improved nothing.
"""

from dataclasses import dataclass

import numpy as np

from plimsoll_placement.estimate.spot.lifetimes import (
    DOWN,
    STEP_SECONDS,
    UP,
    Floats,
    bucket_at,
    expected_ends,
)

FACTORS = (0.4, 1.0, 2.5)
"""The models."""
FACTOR_SPREAD = 0.4
"""The standard deviation of the logarithm of the factor, from pool to pool."""
REMEMBERED = 0.99
"""What an observation still counts ten minutes later: half after twelve hours."""

_LOGARITHMS = np.log(np.array(FACTORS))


@dataclass(frozen=True, slots=True)
class Belief:
    """What is known of spot from what was seen.

    `spot_is_up` is how it is now, and `seconds` for how long. `ended` are the runs up that ended,
    and `expected` how many should have ended by the prior; both fade.
    """

    spot_is_up: bool
    seconds: float = 0.0
    ended: float = 0.0
    expected: float = 0.0

    def later(self, seconds: float, *, spot_is_up: bool) -> "Belief":
        """What is known so much later, when spot is seen to be as it was, or to have changed."""
        kept = REMEMBERED ** (seconds / STEP_SECONDS)
        until, changed = self.seconds + seconds, spot_is_up != self.spot_is_up
        expected = expected_ends(self.seconds, until) if self.spot_is_up else 0.0
        return Belief(
            spot_is_up=spot_is_up,
            seconds=0.0 if changed else until,
            ended=self.ended * kept + (self.spot_is_up and changed),
            expected=self.expected * kept + expected,
        )

    @property
    def side(self) -> int:
        """`UP` or `DOWN`."""
        return UP if self.spot_is_up else DOWN

    @property
    def bucket(self) -> int:
        """The bucket of the present run's age."""
        return bucket_at(self.seconds)

    def weights(self) -> Floats:
        """How likely each of `FACTORS` is; the sum is 1."""
        prior = -0.5 * (_LOGARITHMS / FACTOR_SPREAD) ** 2
        likely = prior + self.ended * _LOGARITHMS - self.expected * np.exp(_LOGARITHMS)
        weights = np.exp(likely - likely.max())
        return weights / weights.sum()
