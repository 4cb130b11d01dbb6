"""What time it is, as an argument, for a simulated cluster has its own; and steps at intervals."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final, NoReturn


@dataclass(frozen=True, slots=True)
class Clock:
    """`now` is the time in UTC; `monotonic` is in seconds, from any beginning, and never back.

    `thread`: the seconds that the thread which asks has computed.
    """

    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    thread: Callable[[], float] = time.thread_time


SYSTEM: Final = Clock(partial(datetime.now, UTC), time.monotonic)
"""The clock of this machine."""


async def repeat(step: Callable[[], Awaitable[None]], seconds: float) -> NoReturn:
    """Take a step, and again so many seconds after each has ended, until cancelled."""
    while True:
        await step()
        await asyncio.sleep(seconds)
