"""Measure how long this process computes in a step, and how long the whole step is.

In a gang that trains in lockstep every worker's step is as long as the slowest one's; only each
one's compute time, before it waits for the others, shows which is slow.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

WINDOW_SECONDS = 120.0
_MOST_STEPS = 512
_LEAST_STEPS = 3
_LEFT_OUT = 10


@dataclass(frozen=True)
class StepTime:
    """Seconds of one step: how long this process computed, and the duration of the whole step."""

    compute: float
    step: float


class Stopwatch:
    """The mean over the timed steps of the last two minutes.

    Without the slowest tenth of them, at least one, so that a step with a save or a pause in it
    does not count; a median would hide a worker that is slow in every third step. The first step,
    which is slow, is excluded.
    """

    def __init__(self) -> None:
        self._steps: deque[tuple[float, StepTime]] = deque(maxlen=_MOST_STEPS)
        self._computed: float | None = None
        self._stepped_at: float | None = None

    def computed(self, seconds: float) -> None:
        """Add compute time to this step."""
        self._computed = (self._computed or 0.0) + seconds

    def stepped(self, now: float) -> None:
        """A step is over."""
        begun, computed = self._stepped_at, self._computed
        self._stepped_at, self._computed = now, None
        if begun is not None and computed is not None:
            self._steps.append((now, StepTime(computed, max(computed, now - begun))))
        while self._steps and now - self._steps[0][0] > WINDOW_SECONDS:
            self._steps.popleft()

    def usual(self) -> StepTime | None:
        """A typical step; None while too few of them were timed."""
        if len(self._steps) < _LEAST_STEPS:
            return None
        known = [each for _, each in self._steps]
        compute = _trimmed_mean([each.compute for each in known])
        return StepTime(compute, max(compute, _trimmed_mean([each.step for each in known])))


def _trimmed_mean(seconds: list[float]) -> float:
    """The mean without the largest tenth."""
    kept = sorted(seconds)[: -math.ceil(len(seconds) / _LEFT_OUT)]
    return sum(kept) / len(kept)
