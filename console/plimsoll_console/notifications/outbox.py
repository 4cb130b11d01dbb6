"""What has been told of each object, and the events that have yet to be delivered.

Both change in one transaction, so that a console that ends between any two statements still tells
of everything, and of nothing twice. Two consoles on one database find the same events under the
same ids; whoever puts off an event delivers it.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import Connection, Engine, delete, func, insert, select, update

from plimsoll_console.ledger.database.connection import reading
from plimsoll_console.ledger.database.tables import TOLD, WAITING
from plimsoll_console.notifications.cloud_event import cloud_event, encode
from plimsoll_console.notifications.occurrences import Occurrence

MOST_WAITING: Final = 10_000
"""The most events that may wait to be delivered; with more, the oldest are dropped."""
REMEMBERED: Final = timedelta(days=30)
"""How long it is known what was told of an object that is gone: it may only be unseen."""
_BEGINNING: Final = ("", "beginning")
"""The key under which it is kept from when on things are told."""


@dataclass(frozen=True, slots=True)
class Letter:
    """An event that waits to be delivered. `attempts` have failed; the last one with `error`."""

    id: str
    body: bytes
    noticed: datetime
    attempts: int
    error: str


class Outbox:
    """The events of one database. Everything here blocks, and raises SQLAlchemyError."""

    def __init__(self, engine: Engine, source: str, now: datetime) -> None:
        self._engine, self._source = engine, source
        with engine.begin() as connection:
            self._beginning = _beginning(connection, _seconds(now))
            self._told = _all_told(connection)

    def tell(self, found: Iterable[Occurrence], now: datetime) -> int:
        """Put in events for what is new; return how many were dropped, as too many wait."""
        news = [each for each in found if self._is_new(each)]
        if not news:
            return 0
        with self._engine.begin() as connection:
            self._told = _all_told(connection)
            news = [each for each in news if self._is_new(each)]
            for each in news:
                _remember(connection, each, is_known=_key(each) in self._told)
            _put_in(connection, news, self._source, _seconds(now))
            dropped = _drop_oldest(connection)
        self._told |= {_key(each): _seconds(each.at) for each in news}
        return dropped

    def forget(self, there: Collection[str], now: datetime) -> None:
        """Forget what was told long ago of objects that are not among these uids."""
        before = _seconds(now - REMEMBERED)
        gone = [key for key, at in self._told.items() if at < before and key[0] not in there]
        if not gone:
            return
        with self._engine.begin() as connection:
            for uid, kind in gone:
                mine = (TOLD.c.uid == uid) & (TOLD.c.kind == kind)
                connection.execute(delete(TOLD).where(mine))
        for key in gone:
            del self._told[key]

    def due(self, now: datetime, most: int, again: timedelta) -> Sequence[Letter]:
        """Take events that are due; they are due again after a while unless delivered."""
        at = _seconds(now)
        wanted = select(WAITING).where(WAITING.c.due <= at).order_by(WAITING.c.due).limit(most)
        with self._engine.begin() as connection:
            rows = connection.execute(wanted).all()
            return [
                Letter(
                    row.id,
                    row.body,
                    datetime.fromtimestamp(row.noticed, UTC),
                    row.attempts,
                    row.error,
                )
                for row in rows
                if _postpone(connection, row.id, row.due, _seconds(now + again))
            ]

    def remove(self, letter: Letter) -> None:
        """Remove an event: it was delivered, or given up."""
        with self._engine.begin() as connection:
            connection.execute(delete(WAITING).where(WAITING.c.id == letter.id))

    def failed(self, letter: Letter, error: str, due: datetime) -> None:
        """Try an event again later."""
        change = update(WAITING).where(WAITING.c.id == letter.id)
        values = {"attempts": letter.attempts + 1, "due": _seconds(due), "error": error}
        with self._engine.begin() as connection:
            connection.execute(change.values(values))

    def waiting(self) -> int:
        """How many events wait to be delivered."""
        with reading(self._engine) as connection:
            return _count(connection)

    def _is_new(self, each: Occurrence) -> bool:
        at = _seconds(each.at)
        return at >= self._beginning and self._told.get(_key(each)) != at


def _key(each: Occurrence) -> tuple[str, str]:
    return (each.uid, each.kind.value)


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())


def _beginning(connection: Connection, now: int) -> int:
    """From when on things are told: since the first console began."""
    uid, kind = _BEGINNING
    mine = (TOLD.c.uid == uid) & (TOLD.c.kind == kind)
    found = connection.execute(select(TOLD.c.at).where(mine)).scalar()
    if found is not None:
        return int(found)
    connection.execute(insert(TOLD).values(uid=uid, kind=kind, at=now))
    return now


def _all_told(connection: Connection) -> dict[tuple[str, str], int]:
    rows = connection.execute(select(TOLD.c.uid, TOLD.c.kind, TOLD.c.at))
    return {(row.uid, row.kind): row.at for row in rows if (row.uid, row.kind) != _BEGINNING}


def _remember(connection: Connection, each: Occurrence, *, is_known: bool) -> None:
    uid, kind = _key(each)
    at = _seconds(each.at)
    if is_known:
        mine = (TOLD.c.uid == uid) & (TOLD.c.kind == kind)
        connection.execute(update(TOLD).where(mine).values(at=at))
    else:
        connection.execute(insert(TOLD).values(uid=uid, kind=kind, at=at))


def _put_in(connection: Connection, news: Iterable[Occurrence], source: str, now: int) -> None:
    for each in news:
        event = cloud_event(each, source)
        row = {"id": event.id, "body": encode(event), "noticed": now, "due": now}
        connection.execute(insert(WAITING).values(row | {"attempts": 0, "error": ""}))


def _drop_oldest(connection: Connection) -> int:
    dropped = max(0, _count(connection) - MOST_WAITING)
    if dropped:
        oldest = select(WAITING.c.id).order_by(WAITING.c.noticed).limit(dropped)
        connection.execute(delete(WAITING).where(WAITING.c.id.in_(oldest)))
    return dropped


def _count(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(WAITING)).scalar_one()


def _postpone(connection: Connection, name: str, due: int, later: int) -> bool:
    """Whether an event was still due then, and is now due later: no one else has taken it."""
    mine = (WAITING.c.id == name) & (WAITING.c.due == due)
    return connection.execute(update(WAITING).where(mine).values(due=later)).rowcount == 1
