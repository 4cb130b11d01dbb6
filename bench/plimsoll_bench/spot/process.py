"""A recorded series as a random process: when its runs end, by their age and the run before.

The process is fitted to the very series that it describes, so it knows of that more than anybody
could in time. What no state here holds, such as the hour of the day, it takes for chance.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.estimate.spot.lifetimes import (
    BUCKETS,
    STEP_SECONDS,
    Floats,
    bucket_at,
    growing,
    hazards,
)

CLASS_OF_BUCKET = (0, 0, 1, 1, 1, 2, 2, 2)
"""Whether the run before was short, of up to 20 minutes, of up to some three hours, or longer."""
CLASSES, SIDES = 3, 2
PRIOR_STEPS = 4.0
"""For how many observed steps the usual probability of an end counts in each state."""
BURN_IN = 2000

Draw = NDArray[np.int64]


@dataclass(frozen=True)
class Process:
    """Its states, in the order of class of the run before, side, and bucket of the age."""

    up: NDArray[np.bool_]
    """Whether spot is up, by state."""
    moves: Floats
    """The probability of each state after each other, a step later."""

    def drawn(self, steps: int, generator: np.random.Generator) -> Draw:
        """States in so many successive steps, which may begin anywhere in the process's life."""
        sums, state = cast("list[list[float]]", np.cumsum(self.moves, axis=1).tolist()), 0
        found = np.empty(BURN_IN + steps, dtype=np.int64)
        for step, chance in enumerate(generator.random(len(found)).tolist()):
            found[step] = state
            state = min(bisect_right(sums[state], chance), len(sums) - 1)
        return found[BURN_IN:]


def fitted(ticks: Sequence[bool]) -> Process:
    """The process of a series."""
    ended = np.zeros((CLASSES, SIDES, BUCKETS))
    seen = np.zeros((CLASSES, SIDES, BUCKETS))
    for state, ends in _lived(ticks):
        seen[state] += 1
        ended[state] += ends
    usual = hazards((1.0,))[0]
    pooled = (ended.sum(axis=0) + PRIOR_STEPS * usual) / (seen.sum(axis=0) + PRIOR_STEPS)
    return _process((ended + PRIOR_STEPS * pooled) / (seen + PRIOR_STEPS))


def _lived(ticks: Sequence[bool]) -> Iterator[tuple[tuple[int, int, int], bool]]:
    """Each tick's class, side and bucket, and whether its run ended with it."""
    before, age = 1, 0
    for tick, then in pairwise(ticks):
        bucket, ends = bucket_at(age * STEP_SECONDS), tick != then
        yield (before, int(tick), bucket), ends
        before, age = (CLASS_OF_BUCKET[bucket], 0) if ends else (before, age + 1)


def _process(ending: Floats) -> Process:
    """The process with these probabilities of an end, by class, side and bucket."""
    moves = np.zeros((*ending.shape, *ending.shape))
    older = growing()
    for (before, side, bucket), ends in np.ndenumerate(ending):
        here = moves[before, side, bucket]
        here[before, side, bucket] += (1 - ends) * (1 - older[bucket])
        here[before, side, min(bucket + 1, BUCKETS - 1)] += (1 - ends) * older[bucket]
        here[CLASS_OF_BUCKET[bucket], 1 - side, 0] += ends
    up = np.broadcast_to(np.arange(SIDES)[:, None] == 1, ending.shape)
    return Process(up.reshape(-1).copy(), moves.reshape(ending.size, ending.size))
