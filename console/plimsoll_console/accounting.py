"""Connect the ledger and its reports to the console."""

from typing import NoReturn

import msgspec

from plimsoll.kube.heartbeat import Heartbeat
from plimsoll_console.cluster.feed import Feed
from plimsoll_console.ledger.announcement import Announcement
from plimsoll_console.ledger.database.connection import connected
from plimsoll_console.ledger.database.store import Store
from plimsoll_console.ledger.keeper import Keeper
from plimsoll_console.ledger.terms import Terms
from plimsoll_console.messages.cluster import Cluster
from plimsoll_console.reports.desk import Desk
from plimsoll_console.reports.focus import Billing
from plimsoll_console.server import ConsoleServer
from plimsoll_console.serving.accounts import Accounts
from plimsoll_console.serving.asker import Askers
from plimsoll_console.settings import Settings
from plimsoll_console.views.cluster import cluster_of
from plimsoll_console.views.sight import Sight
from plimsoll_console.views.stamps import Stamp


class Accounting:
    """Keeps the ledger while `run` runs, and answers for it."""

    def __init__(self, settings: Settings, askers: Askers, server: ConsoleServer) -> None:
        engine = connected(settings.ledger_url)
        terms = Terms(
            write_seconds=settings.ledger_write_seconds,
            retention_days=settings.ledger_retention_days,
        )
        self._keeper, self._write_seconds = Keeper(Store(engine), terms), terms.write_seconds
        billing = Billing(
            settings.ledger_account, settings.ledger_currency, settings.ledger_grams_per_kwh
        )
        self._desk = Desk(engine, billing)
        accounts = Accounts(askers, self._desk)
        server.show("usage", accounts.usage)
        server.show("allocation", accounts.allocation)

    def cluster(self, sight: Sight, stamp: Stamp) -> Cluster:
        """The cluster in short; among its problems, that the ledger cannot be written."""
        found, late = cluster_of(sight, stamp), self._keeper.late
        if not late or not sight.rights.policy:
            return found
        return msgspec.structs.replace(found, problems=(*found.problems, late))

    async def run(self, feed: Feed) -> NoReturn:
        """Keep the ledger of what the feed shows, as long as that is current."""
        await self._keeper.run(feed.current)

    async def announce(self, lease: Heartbeat) -> NoReturn:
        """Say by that Lease how far the ledger goes."""
        await Announcement(lease, lambda: self._keeper.accounted_until).run(self._write_seconds)

    def close(self) -> None:
        """Answer no more."""
        self._desk.close()
