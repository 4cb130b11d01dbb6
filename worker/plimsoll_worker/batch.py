"""The batch that this process trains with, as the plan has chosen for this placement."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Batch:
    """A step's samples: `local` of them at once, `accumulation` times, in each process.

    `size` is what all processes together compute in a step; None if no plan says so.
    """

    local: int
    accumulation: int = 1
    size: int | None = None


def batch(local: int, *, environment: Mapping[str, str] | None = None) -> Batch:
    """The batch that the plan has chosen; if it has chosen none, `local` samples at once.

    It stays the same until the process ends. Raises ValueError if the variables are no numbers.
    """
    found = os.environ if environment is None else environment
    names = ("PLIMSOLL_LOCAL_BATCH", "PLIMSOLL_ACCUMULATION", "PLIMSOLL_GLOBAL_BATCH")
    if not all(found.get(name) for name in names):
        return Batch(local)
    return Batch(*(int(found[name]) for name in names))
