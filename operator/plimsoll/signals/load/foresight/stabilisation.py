"""The minimum and maximum of recent forecasts, for the stabilisation windows of scaling.

Memory is bounded: older forecasts are kept in slots of a small part of the longer window, each with
its minimum and its maximum.
"""

import math
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta

SLOTS = 256


@dataclass(slots=True)
class _Slot:
    """What was forecast from its first moment on."""

    first: datetime
    last: datetime
    least: float
    most: float


class ForeseenOfLate:
    """Remembers the forecasts of one load, as far back as its longer window reaches.

    A gap longer than `gap` ends the memory: anything before it says nothing about now.
    """

    def __init__(self, gap: timedelta) -> None:
        self._gap = gap
        self._slots: deque[_Slot] = deque()
        self._since: datetime | None = None

    def add(self, at: datetime, foreseen: float, longest: timedelta) -> None:
        """Remember a forecast made now, and forget those older than the window."""
        if not self._slots or at - self._slots[-1].last > self._gap:
            self._slots.clear()
            self._since = at
        newest = self._slots[-1] if self._slots else None
        if newest is not None and at - newest.first < longest / SLOTS:
            newest.last = at
            newest.least, newest.most = min(newest.least, foreseen), max(newest.most, foreseen)
        else:
            self._slots.append(_Slot(at, at, foreseen, foreseen))
        while at - self._slots[0].last > longest:
            self._slots.popleft()

    def least(self, at: datetime, window: timedelta) -> float:
        """The minimum over the window; zero until a whole window is known."""
        if self._since is None or at - self._since < window:
            return 0.0
        return min(slot.least for slot in self._slots if at - slot.last <= window)

    def most(self, at: datetime, window: timedelta) -> float:
        """The maximum over the window; infinite until a whole window is known."""
        if self._since is None or at - self._since < window:
            return math.inf
        return max(slot.most for slot in self._slots if at - slot.last <= window)
