"""How many requests to keep in flight: as many as the server bears without queueing them.

A gradient limiter after Netflix's `concurrency-limits` (Gradient2): where responses take little
longer than the fastest of late, the limit grows by its square root; where they take longer, they
queue in the server, and it shrinks in proportion. A rejection (429, by which priority and fairness
sheds load) halves it.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limit at first, and its bounds; with all three the same it does not change."""

    first: int
    least: int
    most: int

    @classmethod
    def fixed(cls, limit: int) -> "Bounds":
        """Always the same limit."""
        return cls(limit, limit, limit)


TOLERANCE = 2.0
"""How many times as long as the fastest responses may take before the limit shrinks."""
SMOOTHING = 0.2
FEWEST_SAMPLES = 16
REJECTED_SHARE = 0.5
FORGOTTEN_SECONDS = 300.0
"""The fastest response counts for once or twice as long."""


class ConcurrencyLimit:
    """The limit, adjusted after each window of as many responses as may be in flight.

    While few are, windows are shorter and only tell how fast the server can be. Of a window, the
    lower quartile counts: this process may itself be slow to take responses in.
    """

    def __init__(self, bounds: Bounds, clock: Callable[[], float] = time.monotonic) -> None:
        self._bounds, self._clock = bounds, clock
        self._limit = float(bounds.first)
        self._window: list[float] = []
        self._fullest = 0
        self._fastest = self._fastest_before = math.inf
        self._forgotten_at = -math.inf
        self._rejected_at = -math.inf

    def __call__(self) -> int:
        """The present limit."""
        return int(self._limit)

    def answered(self, seconds: float, in_flight: int) -> None:
        """Take in that a response took so long, while so many requests were in flight."""
        self._window.append(seconds)
        self._fullest = max(self._fullest, in_flight)
        is_used = self._fullest > self._limit / 2
        if len(self._window) >= max(FEWEST_SAMPLES, self._limit if is_used else 0):
            self._adjust(is_used=is_used)

    def rejected(self, sent_at: float) -> None:
        """Take in that the server rejected a request for its load; once for all then in flight."""
        if sent_at < self._rejected_at:
            return
        self._rejected_at = self._clock()
        self._set(self._limit * REJECTED_SHARE)
        self._begin_window()

    def _adjust(self, *, is_used: bool) -> None:
        seconds = sorted(self._window)[len(self._window) // 4]
        fastest = self._fastest_with(seconds)
        self._begin_window()
        if is_used:  # otherwise its responses say nothing about a larger limit
            gradient = max(0.5, min(1.0, TOLERANCE * fastest / max(seconds, 1e-6)))
            wanted = self._limit * gradient + math.sqrt(self._limit)
            self._set(self._limit + SMOOTHING * (wanted - self._limit))

    def _fastest_with(self, seconds: float) -> float:
        """The fastest of late, with this window."""
        now = self._clock()
        if now >= self._forgotten_at:
            self._fastest_before, self._fastest = self._fastest, math.inf
            self._forgotten_at = now + FORGOTTEN_SECONDS
        self._fastest = min(self._fastest, seconds)
        return min(self._fastest, self._fastest_before)

    def _set(self, limit: float) -> None:
        self._limit = min(max(limit, self._bounds.least), self._bounds.most)

    def _begin_window(self) -> None:
        self._window, self._fullest = [], 0


class Gate:
    """Lets as many through at once as a limit says, which may change; first come, first served."""

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self._waiting: deque[asyncio.Future[None]] = deque()
        self.inside = 0

    @asynccontextmanager
    async def passed(self) -> AsyncGenerator[None]:
        """Be inside, once there is room."""
        await self._enter()
        try:
            yield
        finally:
            self.inside -= 1
            self._admit()

    async def _enter(self) -> None:
        if self.inside < self._limit() and not self._waiting:
            self.inside += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # let in, but gone before it noticed
                self.inside -= 1
                self._admit()
            raise

    def _admit(self) -> None:
        """Let those in for whom there is room; they count from now on."""
        while self._waiting and self.inside < self._limit():
            turn = self._waiting.popleft()
            if not turn.done():
                self.inside += 1
                turn.set_result(None)
