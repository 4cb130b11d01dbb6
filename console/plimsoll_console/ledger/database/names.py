"""The numbers by which rows name accounts and places, made when they are first needed."""

from collections.abc import Collection
from typing import Final, NamedTuple

from sqlalchemy import Connection

from plimsoll_console.ledger.accounting.observation import Account, Place
from plimsoll_console.ledger.database import bulk
from plimsoll_console.ledger.database.tables import JOBS, OWNERS, PLACES

_MOST_KNOWN: Final = 100_000
_OWNER: Final = ("queue", "namespace", "user")
_JOB: Final = ("uid", "owner")
_PLACE: Final = ("gpu_type", "pool", "option", "share_milli", "microdollars")


class Numbered(NamedTuple):
    """An account's job and owner."""

    job: int
    owner: int


class Names:
    """Knows the numbers that it has seen; `forget` them when they may not have been kept."""

    def __init__(self) -> None:
        self._owners: dict[bulk.Row, int] = {}
        self._accounts: dict[Account, Numbered] = {}
        self._places: dict[Place, int] = {}
        self._last_days: dict[int, int] = {}

    def forget(self) -> None:
        """Ask the database again from now on."""
        self.__init__()

    def accounts(
        self, connection: Connection, wanted: Collection[Account]
    ) -> dict[Account, Numbered]:
        """The numbers of accounts."""
        if len(self._accounts) > _MOST_KNOWN:
            self.forget()
        missing = [each for each in wanted if each not in self._accounts]
        if missing:
            self._number(connection, missing)
        return {each: self._accounts[each] for each in wanted}

    def places(self, connection: Connection, wanted: Collection[Place]) -> dict[Place, int]:
        """The numbers of places."""
        rows = {each: _place_row(each) for each in wanted if each not in self._places}
        if rows:
            bulk.insert_missing(connection, PLACES, _PLACE, list(rows.values()))
            found = bulk.ids(connection, PLACES, _PLACE, list(rows.values()))
            self._places.update((each, found[row]) for each, row in rows.items())
        return {each: self._places[each] for each in wanted}

    def use(self, connection: Connection, jobs: Collection[int], day: int) -> None:
        """Note that jobs have rows of a day: they are kept as long as these."""
        news = [(job,) for job in jobs if self._last_days.get(job, 0) < day]
        bulk.raise_to(connection, JOBS, "last_day", day, news)
        self._last_days.update((job, day) for (job,) in news)

    def _number(self, connection: Connection, accounts: Collection[Account]) -> None:
        owners = {_owner_row(each) for each in accounts} - self._owners.keys()
        bulk.insert_missing(connection, OWNERS, _OWNER, [*owners])
        self._owners.update(bulk.ids(connection, OWNERS, _OWNER, [*owners]))
        keys = {each: (each.uid, self._owners[_owner_row(each)]) for each in accounts}
        rows = [(*key, each.kind, each.name, 0) for each, key in keys.items()]
        bulk.insert_missing(connection, JOBS, (*_JOB, "kind", "name", "last_day"), rows)
        found = bulk.ids(connection, JOBS, _JOB, [*keys.values()])
        self._accounts.update((each, Numbered(found[key], key[1])) for each, key in keys.items())


def _owner_row(account: Account) -> bulk.Row:
    return account.queue, account.namespace, account.user


def _place_row(place: Place) -> bulk.Row:
    return place.gpu_type, place.pool, place.option, place.share_milli, place.microdollars
