"""Read sums from the ledger: whole days from the rows by the day, the rest by the hour."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Select,
    func,
    literal,
    literal_column,
    select,
)

from plimsoll_console.ledger.accounting.observation import Account, Place
from plimsoll_console.ledger.accounting.tally import Use
from plimsoll_console.ledger.database.tables import DAYS, HOURS, JOBS, OWNERS, PLACES, STANDING

HOURS_PER_DAY: Final = 24
_DAY: Final = literal_column(str(HOURS_PER_DAY), Integer)
"""In the statement itself: PostgreSQL does not see that terms with parameters are the same."""
Grain = Literal["hour", "day", "all"]


class Hours(NamedTuple):
    """Hours since 1970, from one up to another."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sums are wanted: by how long a time, whether each job's, in which namespace if any."""

    hours: Hours
    grain: Grain = "all"
    by_job: bool = False
    namespace: str = ""


class Sum(NamedTuple):
    """What an owner or a job used at a place in a time; `hour` is the first one of that time."""

    hour: int
    account: Account
    place: Place
    use: Use
    milli_ms: int
    millijoules: int


class TooManySumsError(Exception):
    """There are more sums than one answer may have."""


def accounted_until_ms(connection: Connection) -> int | None:
    """Until when all is accounted for; None while nothing is."""
    return connection.execute(select(STANDING.c.accounted_until_ms)).scalar()


def namespaces(connection: Connection, *, most: int) -> list[str]:
    """The namespaces of all owners, the latest known ones first."""
    latest = func.max(OWNERS.c.id)
    asked = select(OWNERS.c.namespace).where(OWNERS.c.namespace != "")
    asked = asked.group_by(OWNERS.c.namespace).order_by(latest.desc()).limit(most)
    return list(connection.execute(asked).scalars())


def sums(connection: Connection, wanted: Wanted, *, most: int) -> list[Sum]:
    """The sums. Raises TooManySumsError if there are more than `most`."""
    owners, places = _owners(connection), _places(connection)
    found: list[Sum] = []
    for statement in _statements(wanted):
        for row in connection.execute(statement.limit(most + 1 - len(found))):
            owner = owners[row.owner]
            account = Account(row.kind, owner.namespace, row.name, row.uid, owner.queue, owner.user)
            amounts = int(row.milli_ms), int(row.millijoules)
            found.append(Sum(row.hour, account, places[row.place], Use(row.use), *amounts))
        if len(found) > most:
            raise TooManySumsError
    return found


def _statements(wanted: Wanted) -> Iterator[Select[Any]]:
    start, end = wanted.hours
    if wanted.by_job or wanted.grain == "hour":
        yield _from_hours(wanted, wanted.hours)
        return
    first_day = -(-start // HOURS_PER_DAY)
    last_day = max(first_day, end // HOURS_PER_DAY)
    if first_day * HOURS_PER_DAY > end:
        yield _from_hours(wanted, wanted.hours)
        return
    if start < first_day * HOURS_PER_DAY:
        yield _from_hours(wanted, Hours(start, first_day * HOURS_PER_DAY))
    if first_day < last_day:
        yield _from_days(wanted, first_day, last_day)
    if last_day * HOURS_PER_DAY < end:
        yield _from_hours(wanted, Hours(last_day * HOURS_PER_DAY, end))


def _from_days(wanted: Wanted, first: int, last: int) -> Select[Any]:
    hour = DAYS.c.day * _DAY
    time = literal(wanted.hours.start) if wanted.grain == "all" else hour
    keys = [DAYS.c.owner, DAYS.c.place, DAYS.c.use, *([hour] if wanted.grain != "all" else [])]
    nobody = (literal("").label(name) for name in ("kind", "name", "uid"))
    return (
        select(
            time.label("hour"),
            *keys[:3],
            *nobody,
            func.sum(DAYS.c.milli_ms).label("milli_ms"),
            func.sum(DAYS.c.millijoules).label("millijoules"),
        )
        .where(DAYS.c.day >= first, DAYS.c.day < last, *_of_namespace(wanted, DAYS.c.owner))
        .group_by(*keys)
    )


def _from_hours(wanted: Wanted, hours: Hours) -> Select[Any]:
    times: Mapping[Grain, ColumnElement[int]] = {
        "hour": HOURS.c.hour,
        "day": HOURS.c.hour - HOURS.c.hour % _DAY,
        "all": literal(wanted.hours.start),
    }
    time = times[wanted.grain]
    keys = [HOURS.c.place, HOURS.c.use, *([time] if wanted.grain != "all" else [])]
    if wanted.by_job:
        whose = [JOBS.c.owner, JOBS.c.kind, JOBS.c.name, JOBS.c.uid]
        keys.append(JOBS.c.id)
    else:
        whose = [JOBS.c.owner, *(literal("").label(name) for name in ("kind", "name", "uid"))]
        keys.append(JOBS.c.owner)
    return (
        select(
            time.label("hour"),
            HOURS.c.place,
            HOURS.c.use,
            *whose,
            func.sum(HOURS.c.milli_ms).label("milli_ms"),
            func.sum(HOURS.c.millijoules).label("millijoules"),
        )
        .join(JOBS, JOBS.c.id == HOURS.c.job)
        .where(
            HOURS.c.hour >= hours.start,
            HOURS.c.hour < hours.end,
            *_of_namespace(wanted, JOBS.c.owner),
        )
        .group_by(*keys)
    )


def _of_namespace(wanted: Wanted, owner: ColumnElement[int]) -> Iterator[ColumnElement[bool]]:
    if wanted.namespace:
        yield owner.in_(select(OWNERS.c.id).where(OWNERS.c.namespace == wanted.namespace))


def _owners(connection: Connection) -> Mapping[int, Account]:
    rows = connection.execute(select(OWNERS))
    return {
        row.id: Account(queue=row.queue, namespace=row.namespace, user=row.user) for row in rows
    }


def _places(connection: Connection) -> Mapping[int, Place]:
    rows = connection.execute(select(PLACES))
    return {
        row.id: Place(row.gpu_type, row.pool, row.option, row.share_milli, row.microdollars)
        for row in rows
    }
