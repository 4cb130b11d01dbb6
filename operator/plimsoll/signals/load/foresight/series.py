"""A load's history at regular steps, as far back as a forecast looks.

The steps are aligned to the clock, so that Prometheus' history lines up with later observations.
"""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import numpy as np
import numpy.typing as npt

STEP_SECONDS: Final = 120
MOST_STEPS: Final = 14 * 86_400 // STEP_SECONDS
"""Two weeks. Prometheus returns no more than 11,000 points of a series."""

Floats = npt.NDArray[np.float64]


class LoadSeries:
    """The mean of what was observed in each step; the present one is still in progress."""

    def __init__(self) -> None:
        self._loads: Floats = np.empty(0)
        self._step: int | None = None
        self._sum, self._count = 0.0, 0

    @property
    def loads(self) -> Floats:
        """The loads of completed steps, oldest first, NaN where unknown."""
        return self._loads

    @property
    def known(self) -> Floats:
        """The loads of completed steps, and of the present one what was observed so far."""
        return np.append(self._loads, self._sum / self._count) if self._count else self._loads

    @property
    def step(self) -> int | None:
        """The current step, counted from the epoch; None before anything was observed."""
        return self._step

    def add(self, at: datetime, load: float) -> None:
        """Add an observation, no earlier than the last."""
        step = step_of(at)
        if self._step is not None and step > self._step:
            self._close(step - self._step - 1)
        self._step = step
        self._sum, self._count = self._sum + load, self._count + 1

    def fill(self, past: Mapping[int, float]) -> None:
        """Fill in the loads of steps before anything was observed here, by step number."""
        end = self._step if self._step is not None else max(past, default=-1) + 1
        first = end - len(self._loads)
        before = [step for step in past if first - MOST_STEPS <= step < first]
        if not before:
            return
        start = min(before)
        earlier = np.full(first - start, np.nan)
        for step in before:
            earlier[step - start] = past[step]
        self._loads = np.concatenate([earlier, self._loads])[-MOST_STEPS:]
        self._step = end

    def _close(self, missed: int) -> None:
        mean = self._sum / self._count if self._count else math.nan
        gap = np.full(min(missed, MOST_STEPS), np.nan)
        self._loads = np.concatenate([self._loads, [mean], gap])[-MOST_STEPS:]
        self._sum, self._count = 0.0, 0


def highest_in_blocks(loads: Floats, steps: int) -> Floats:
    """The highest load in each block of so many steps, the last of which ends with the loads.

    NaN where none is known; the steps before the first whole block are left out.
    """
    blocks = len(loads) // steps
    rows = loads[len(loads) - blocks * steps :].reshape(blocks, steps)
    found: Floats = np.fmax.reduce(rows, axis=1)
    return found


def step_of(at: datetime) -> int:
    """The number of the step that a moment lies in."""
    return int(at.timestamp() // STEP_SECONDS)
