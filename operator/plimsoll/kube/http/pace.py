"""Limit the rate of requests: so many per second, with bursts of up to a second's worth.

The generic cell rate algorithm: each request advances the time of zero debt by its share of a
second; a request waits while that time is more than a second ahead.
"""

import asyncio
import math
import time
from collections.abc import Callable

BURST_SECONDS = 1.0


class Pace:
    """Lets `per_second` requests through each second; 0 is unlimited."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._share_seconds = 1 / per_second if per_second else 0.0
        self._clock = clock
        self._paid_until = -math.inf

    async def turn(self) -> None:
        """Return when it is the caller's turn, in the order of the calls."""
        wait = self.wait_seconds()
        if wait > 0:
            await asyncio.sleep(wait)

    def wait_seconds(self) -> float:
        """Take a turn: the wait until it comes."""
        now = self._clock()
        self._paid_until = max(self._paid_until, now) + self._share_seconds
        return self._paid_until - now - BURST_SECONDS
