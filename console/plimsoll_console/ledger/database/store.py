"""Write what was used, once and only once.

Each write moves `accounted_until_ms` from where the writer found it, in the transaction that adds
the rows. Of two consoles that account for the same time, one moves it first, and the other one's
rows are not written. A writer that does not know whether its commit succeeded finds out by reading
how far the ledger has got.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Engine, insert, select, text, update

from plimsoll_console.ledger.accounting.observation import (
    MS_PER_HOUR,
    Account,
    Loss,
    Observation,
    Place,
)
from plimsoll_console.ledger.accounting.tally import Tally, Use
from plimsoll_console.ledger.database import bulk, remembered
from plimsoll_console.ledger.database.names import Names, Numbered
from plimsoll_console.ledger.database.schema import migrate
from plimsoll_console.ledger.database.tables import DAYS, HOURS, LOSSES, STANDING

HOURS_PER_DAY: Final = 24
_ROW: Final = 1
_LOSS_REACHES_HOURS: Final = 48


@dataclass(frozen=True, slots=True)
class Batch:
    """What was used from `base_ms` up to the observation `until`, and lost by disruptions."""

    base_ms: int
    until: Observation
    tally: Tally
    losses: tuple[Loss, ...] = ()


class Store:
    """The database as the writer sees it. Its methods block, and raise SQLAlchemyError."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._names = engine, Names()

    def open(self) -> None:
        """Make the tables, or bring them up to date."""
        migrate(self._engine)

    def accounted_until(self) -> int | None:
        """Until when all is accounted for; None while nothing is."""
        with self._engine.begin() as connection:
            return connection.execute(select(STANDING.c.accounted_until_ms)).scalar()

    def last_seen(self) -> Observation | None:
        """What was seen when the last rows were written; None while there are none."""
        with self._engine.begin() as connection:
            found = connection.execute(
                select(STANDING.c.observation, STANDING.c.accounted_until_ms)
            ).one_or_none()
        return None if found is None else remembered.from_bytes(*found)

    def begin(self, first: Observation) -> None:
        """Account from this observation on, unless the ledger has begun already."""
        values = {
            "id": _ROW,
            "accounted_until_ms": first.at_ms,
            "observation": remembered.as_bytes(first),
        }
        with self._engine.begin() as connection:
            if connection.execute(select(STANDING.c.id)).first() is None:
                connection.execute(insert(STANDING).values(values))

    def write(self, batch: Batch) -> bool:
        """Write what was used; False if somebody else has accounted for that time."""
        try:
            with self._engine.begin() as connection:
                if not _moved(connection, batch):
                    return False
                self._add(connection, batch.tally)
                for loss in batch.losses:
                    self._move_lost(connection, loss)
        except BaseException:
            self._names.forget()
            raise
        return True

    def forget_before(self, hour: int) -> None:
        """Delete rows older than an hour, whole days of them, and the jobs that none names."""
        day = hour // HOURS_PER_DAY
        bounds = {"hour": day * HOURS_PER_DAY, "day": day, "ms": hour * MS_PER_HOUR}
        with self._engine.begin() as connection:
            connection.execute(text("DELETE FROM hours WHERE hour < :hour"), bounds)
            connection.execute(text("DELETE FROM days WHERE day < :day"), bounds)
            connection.execute(text("DELETE FROM losses WHERE at_ms < :ms"), bounds)
            connection.execute(text("DELETE FROM jobs WHERE last_day < :day"), bounds)
        self._names.forget()

    def _add(self, connection: Connection, tally: Tally) -> None:
        accounts = self._names.accounts(connection, {key.account for key, _ in tally})
        places = self._names.places(connection, {key.place for key, _ in tally})
        days = [key.hour // HOURS_PER_DAY for key, _ in tally]
        if days:
            self._names.use(connection, [each.job for each in accounts.values()], max(days))
        hours = [
            (key.hour, accounts[key.account].job, places[key.place], int(key.use), *amount)
            for key, amount in tally
        ]
        # In one order, so that two writers never wait for each other.
        bulk.add_amounts(connection, HOURS, sorted(hours))
        bulk.add_amounts(connection, DAYS, sorted(_days(tally, accounts, places)))

    def _move_lost(self, connection: Connection, loss: Loss) -> None:
        """Turn useful time before a disruption into lost time, the latest first, and only once."""
        number = self._names.accounts(connection, [loss.account])[loss.account]
        before = connection.execute(_COUNT, {"job": number.job, "at_ms": loss.at_ms}).scalar_one()
        if before:
            return
        connection.execute(insert(LOSSES).values(job=number.job, at_ms=loss.at_ms))
        left, last = loss.milli_ms, loss.at_ms // MS_PER_HOUR
        for hour in range(last, last - _LOSS_REACHES_HOURS, -1):
            if left <= 0:
                return
            left -= _move_hour(connection, number, hour, left)


_COUNT: Final = text("SELECT count(*) FROM losses WHERE job = :job AND at_ms = :at_ms")


def _moved(connection: Connection, batch: Batch) -> bool:
    """Move the end of the accounted time, if it is where the batch begins."""
    moved = connection.execute(
        update(STANDING)
        .where(STANDING.c.id == _ROW, STANDING.c.accounted_until_ms == batch.base_ms)
        .values(accounted_until_ms=batch.until.at_ms, observation=remembered.as_bytes(batch.until))
    )
    return moved.rowcount == 1


def _days(
    tally: Tally, accounts: Mapping[Account, Numbered], places: Mapping[Place, int]
) -> Iterable[bulk.Row]:
    sums: dict[tuple[int, int, int, int], list[int]] = defaultdict(lambda: [0, 0])
    for key, amount in tally:
        day = key.hour // HOURS_PER_DAY
        total = sums[day, accounts[key.account].owner, places[key.place], int(key.use)]
        total[0] += amount.milli_ms
        total[1] += amount.millijoules
    return ((*key, *total) for key, total in sums.items())


def _move_hour(connection: Connection, number: Numbered, hour: int, most: int) -> int:
    """Move up to so much of a job's useful time in an hour; returns how much it was."""
    rows = connection.execute(
        select(HOURS.c.place, HOURS.c.milli_ms, HOURS.c.millijoules).where(
            HOURS.c.hour == hour, HOURS.c.job == number.job, HOURS.c.use == int(Use.USEFUL)
        )
    ).all()
    moved = 0
    for place, useful, millijoules in rows:
        part = min(useful, most - moved)
        if part <= 0:
            continue
        energy = millijoules * part // useful
        for table, key in (
            (HOURS, (hour, number.job)),
            (DAYS, (hour // HOURS_PER_DAY, number.owner)),
        ):
            less = (*key, place, int(Use.USEFUL), -part, -energy)
            more = (*key, place, int(Use.LOST), part, energy)
            bulk.add_amounts(connection, table, [less, more])
        moved += part
    return moved
