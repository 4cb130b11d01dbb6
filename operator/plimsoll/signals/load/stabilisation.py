"""What was foreseen of late, and the least and the most of it: what the windows of scaling look at.

Kept in bounded room: what is long ago in terms of the longer window is kept in slots of a small
part of it, each with its least and its most.
"""

import math
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta

SLOTS = 256


@dataclass(slots=True)
class _Slot:
    """What was foreseen from its first moment on."""

    first: datetime
    last: datetime
    least: float
    most: float


class ForeseenOfLate:
    """Remembers what was foreseen for one load, as far back as its longer window reaches.

    A gap longer than `gap` ends what is known: what was before it tells nothing of now.
    """

    def __init__(self, gap: timedelta) -> None:
        self._gap = gap
        self._slots: deque[_Slot] = deque()
        self._since: datetime | None = None

    def add(self, at: datetime, foreseen: float, longest: timedelta) -> None:
        """Remember what is foreseen at this moment, and forget what is older than this."""
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
        """The least of this window; nothing while less than all of it is known."""
        if self._since is None or at - self._since < window:
            return 0.0
        return min(slot.least for slot in self._slots if at - slot.last <= window)

    def most(self, at: datetime, window: timedelta) -> float:
        """The most of this window; infinite while less than all of it is known."""
        if self._since is None or at - self._since < window:
            return math.inf
        return max(slot.most for slot in self._slots if at - slot.last <= window)
