"""The batch that this process trains with, as the plan has chosen.

Where a program changes it as it trains, all processes of a gang must do so in the same step. What
they agree on is a number of 31 bits, as with `word`; of several the largest counts, and 0 is no
opinion.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

_PASSES_BITS = 8
_MOST_PASSES = (1 << _PASSES_BITS) - 1
_MOST_LOCAL = 1 << 22


@dataclass(frozen=True)
class Batch:
    """A step's samples: `local` of them at once, `accumulation` times, in each process.

    `size` is what all processes together compute in a step; None if no plan says so.
    """

    local: int
    accumulation: int = 1
    size: int | None = None

    def changed(self, number: int) -> Batch:
        """The batch of this number for the same processes; this one if it is 0."""
        if number <= 0 or self.size is None:
            return self
        local, accumulation = number >> _PASSES_BITS, (number & _MOST_PASSES) + 1
        processes = self.size // (self.local * self.accumulation)
        return Batch(local, accumulation, local * accumulation * processes)


def number_of(batch: Batch | None) -> int:
    """The number on which processes agree; 0 without a batch, or for one that is too large."""
    if batch is None or batch.local >= _MOST_LOCAL or batch.accumulation > _MOST_PASSES + 1:
        return 0
    return batch.local << _PASSES_BITS | batch.accumulation - 1


def batch(local: int, *, environment: Mapping[str, str] | None = None) -> Batch:
    """The batch that the plan has chosen; if it has chosen none, `local` samples at once.

    It stays the same until the process ends, unless `attach` is given it. Raises ValueError if the
    variables are no numbers.
    """
    found = os.environ if environment is None else environment
    names = ("PLIMSOLL_LOCAL_BATCH", "PLIMSOLL_ACCUMULATION", "PLIMSOLL_GLOBAL_BATCH")
    if not all(found.get(name) for name in names):
        return Batch(local)
    return Batch(*(int(found[name]) for name in names))
