"""An event loop whose time passes only when nothing is left to do: a day takes as long as its work.

What runs in it must wait for nothing outside of it: no socket, no thread, no other process.
"""

import asyncio
import selectors
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from plimsoll.clock import Clock

NANO = 1_000_000_000


class NothingLeftError(Exception):
    """All tasks wait for one another: no time is set at which any would go on."""


class _Selector(selectors.BaseSelector):
    """Lets time pass instead of waiting for files; those that the loop registers are never read."""

    def __init__(self) -> None:
        self._files = selectors.DefaultSelector()
        self._nanoseconds = 0

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:  # noqa: ANN401 - as in the base
        return self._files.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:  # noqa: ANN401 - the same
        return self._files.unregister(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise NothingLeftError("everything waits, and nothing is due at any time")
        self._nanoseconds += round(max(0.0, timeout) * NANO)
        return []

    @property
    def seconds(self) -> float:
        """The time, in whole nanoseconds: who wakes in between does not change it by rounding."""
        return self._nanoseconds / NANO

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._files.get_map()

    def close(self) -> None:
        self._files.close()


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Its `time()` begins at 0."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)
        # What is due within this time is due now. By default that is a nanosecond, which after half
        # a year is less than a float can tell: time would never reach what comes next.
        self._clock_resolution = 1e-6

    def run_in_executor(  # pyright: ignore[reportIncompatibleMethodOverride] - typed by overloads
        self,
        _executor: object,
        func: Callable[..., Any],
        *args: object,
    ) -> asyncio.Future[Any]:
        """Call it at once: no other thread knows of this time."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - as an executor does
            future.set_exception(error)
        return future

    def time(self) -> float:
        """The seconds since the beginning."""
        return self._virtual.seconds


def clock_of(loop: VirtualTimeLoop, begins: datetime) -> Clock:
    """The clock of what runs in a loop whose time begins then."""
    return Clock(lambda: begins + timedelta(seconds=loop.time()), loop.time, loop.time)
