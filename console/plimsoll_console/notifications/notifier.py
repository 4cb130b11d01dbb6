"""Notice what has happened, and see that it is told: the part that the console runs."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, NoReturn

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from plimsoll.observe.snapshot import Snapshot
from plimsoll.vocabulary import logs
from plimsoll_console.ledger.database.schema import migrate
from plimsoll_console.notifications import metrics
from plimsoll_console.notifications.delivery import Delivery
from plimsoll_console.notifications.occurrences import Kind, occurrences
from plimsoll_console.notifications.outbox import Outbox
from plimsoll_console.notifications.webhook import Webhook

LOOK_SECONDS: Final = 5.0
"""How often the cluster is looked at: what was so for a shorter time may not be told."""
REST_SECONDS: Final = 30.0
"""How long to wait for a database that has failed."""
_log = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class Subscription:
    """Where events go, which ones, and how they are signed (None: not at all).

    `source` names this cluster to the receiver.
    """

    url: str
    source: str
    kinds: frozenset[Kind]
    secret_file: Path | None = None


class Notifier:
    """Tells a receiver what happens; whatever must survive a restart is in the database."""

    def __init__(
        self,
        subscription: Subscription,
        engine: Engine,
        snapshot: Callable[[], Snapshot | None],
        now: Callable[[], datetime],
    ) -> None:
        self._subscription, self._engine = subscription, engine
        self._snapshot, self._now = snapshot, now

    async def run(self) -> NoReturn:
        """Notice and deliver from now on, and begin again whenever the database fails."""
        async with Webhook(self._subscription.url, self._subscription.secret_file) as webhook:
            while True:
                try:
                    await self._tell(webhook)
                except* SQLAlchemyError as errors:
                    error = str(errors.exceptions[0])
                    _log.warning("notifications wait for the database", error=error)
                await asyncio.sleep(REST_SECONDS)

    async def _tell(self, webhook: Webhook) -> None:
        outbox = await asyncio.to_thread(self._opened)
        delivery = Delivery(outbox, webhook, self._now)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(delivery.run())
            while True:
                await self._notice(outbox, delivery)
                await asyncio.sleep(LOOK_SECONDS)

    def _opened(self) -> Outbox:
        migrate(self._engine)
        return Outbox(self._engine, self._subscription.source, self._now())

    async def _notice(self, outbox: Outbox, delivery: Delivery) -> None:
        snapshot = self._snapshot()
        if snapshot is None:
            return
        dropped = await asyncio.to_thread(self._put_in, outbox, snapshot)
        if dropped:
            metrics.NOTIFICATIONS.labels("Dropped").inc(dropped)
            _log.warning("notifications dropped: too many wait", dropped=dropped)
        delivery.look()

    def _put_in(self, outbox: Outbox, snapshot: Snapshot) -> int:
        """Put in what is new, and forget what is gone; return how many events were dropped."""
        found = [each for each in occurrences(snapshot) if each.kind in self._subscription.kinds]
        dropped = outbox.tell(found, self._now())
        uids = {job.uid for job in snapshot.jobs} | {q.metadata.uid for q in snapshot.queues}
        outbox.forget(uids, self._now())
        metrics.NOTIFICATIONS_WAITING.set(outbox.waiting())
        return dropped
