"""How fast may requests follow each other? So many a second, and a second's worth at once.

The generic cell rate algorithm: each request moves the time from which there would be no debt by
its share of a second; who is further ahead of it than a second waits.
"""

import asyncio
import math
import time
from collections.abc import Callable

BURST_SECONDS = 1.0


class Pace:
    """Lets `per_second` requests through each second; 0 lets all through at once."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._share_seconds = 1 / per_second if per_second else 0.0
        self._clock = clock
        self._paid_until = -math.inf

    async def turn(self) -> None:
        """Return when it is the caller's turn; turns come in the order of the calls."""
        wait = self.wait_seconds()
        if wait > 0:
            await asyncio.sleep(wait)

    def wait_seconds(self) -> float:
        """Take a turn: how long it is until then."""
        now = self._clock()
        self._paid_until = max(self._paid_until, now) + self._share_seconds
        return self._paid_until - now - BURST_SECONDS
