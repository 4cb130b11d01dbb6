"""Deliver events until each has been taken, or is too old to be of use."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NoReturn, Protocol

from plimsoll.vocabulary import logs
from plimsoll_console.errors import NotDelivered
from plimsoll_console.notifications import metrics
from plimsoll_console.notifications.outbox import Letter, Outbox

_log = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class DeliveryTerms:
    """How often an event is tried, and how many at a time.

    An event that is `taken_for` so long without a result is due again: whoever took it has ended.
    """

    first_pause: timedelta = timedelta(seconds=5)
    longest_pause: timedelta = timedelta(hours=1)
    given_up_after: timedelta = timedelta(hours=24)
    at_once: int = 4
    taken_for: timedelta = timedelta(minutes=1)
    look_seconds: float = 5.0

    def pause(self, attempts: int) -> timedelta:
        """How long to wait after so many failed attempts in a row."""
        return min(self.first_pause * 2 ** min(attempts, 16), self.longest_pause)


class Receiver(Protocol):
    """Who takes events."""

    async def post(self, name: str, body: bytes, now: datetime) -> None:
        """Take one. Raises NotDelivered."""
        ...


class Delivery:
    """Delivers what waits in an outbox."""

    def __init__(
        self,
        outbox: Outbox,
        receiver: Receiver,
        now: Callable[[], datetime],
        terms: DeliveryTerms | None = None,
    ) -> None:
        self._outbox, self._receiver, self._now = outbox, receiver, now
        self._terms = terms or DeliveryTerms()
        self._news = asyncio.Event()

    def look(self) -> None:
        """Look for events now: some were put in."""
        self._news.set()

    async def run(self) -> NoReturn:
        """Deliver from now on."""
        while True:
            self._news.clear()
            if not await self.deliver_due():
                await self._wait()

    async def _wait(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._terms.look_seconds):
                await self._news.wait()

    async def deliver_due(self) -> int:
        """Try each event that is due, a few at a time; return how many were tried."""
        terms = self._terms
        letters = await asyncio.to_thread(
            self._outbox.due, self._now(), terms.at_once, terms.taken_for
        )
        await asyncio.gather(*map(self._deliver, letters))
        return len(letters)

    async def _deliver(self, letter: Letter) -> None:
        try:
            await self._receiver.post(letter.id, letter.body, self._now())
        except NotDelivered as error:
            await self._failed(letter, str(error))
        else:
            metrics.NOTIFICATIONS.labels("Delivered").inc()
            await asyncio.to_thread(self._outbox.remove, letter)

    async def _failed(self, letter: Letter, error: str) -> None:
        metrics.NOTIFICATIONS.labels("Failed").inc()
        _log.warning("notification not delivered", id=letter.id, error=error)
        if self._now() - letter.noticed >= self._terms.given_up_after:
            metrics.NOTIFICATIONS.labels("GivenUp").inc()
            await asyncio.to_thread(self._outbox.remove, letter)
            return
        due = self._now() + self._terms.pause(letter.attempts)
        await asyncio.to_thread(self._outbox.failed, letter, error, due)
