"""Measure the rate of work from its progress over time."""

from __future__ import annotations

from collections import deque

WINDOW_SECONDS = 120.0
_APART_SECONDS = 1.0
_LEAST_SECONDS = 5.0


class Meter:
    """The rate over the last two minutes, excluding the first step, which is slow."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, float]] = deque()

    def saw(self, now: float, done: float) -> None:
        """Record the work done by now; if it is less than before, measuring starts anew."""
        points = self._points
        if points and done < points[-1][1]:
            points.clear()
        if points and now - points[-1][0] < _APART_SECONDS:
            return
        points.append((now, done))
        while now - points[0][0] > WINDOW_SECONDS:
            points.popleft()

    def rate(self) -> float | None:
        """Units per second; None while unknown."""
        if not self._points:
            return None
        (begun, before), (ended, after) = self._points[0], self._points[-1]
        if ended - begun < _LEAST_SECONDS:
            return None
        return (after - before) / (ended - begun)
