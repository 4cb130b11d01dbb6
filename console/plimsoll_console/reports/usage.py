"""What was used, as rows: GPU-hours by what they went into, dollars, energy and carbon dioxide."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import Engine

from plimsoll.kube.objects.times import rfc3339
from plimsoll.vocabulary.dimensions import Dimension
from plimsoll_console.ledger.accounting.observation import MS_PER_HOUR, Account
from plimsoll_console.ledger.accounting.tally import WHOLE_GPU_MILLI, Use
from plimsoll_console.ledger.database.connection import reading
from plimsoll_console.ledger.database.reading import (
    Grain,
    Hours,
    Sum,
    TooManySumsError,
    Wanted,
    accounted_until_ms,
    sums,
)
from plimsoll_console.reports.query import TIMES, Query
from plimsoll_console.reports.times import UnusableQuery

MOST_ROWS: Final = 200_000
HELD: Final = (Use.USEFUL, Use.STARTING, Use.LOST, Use.RESERVED)
"""What jobs are charged for."""
NODE_TIME: Final = tuple(use for use in Use if use is not Use.WAITING)
"""What adds up to the time of all nodes' GPUs."""
_MILLI_MS_PER_GPU_HOUR: Final = WHOLE_GPU_MILLI * MS_PER_HOUR
_MICRO: Final = 1_000_000
_MILLIJOULES_PER_KWH: Final = 3_600_000_000
_SECONDS_PER_HOUR: Final = 3600
_DIGITS: Final = 6
Keys = tuple[str, ...]


@dataclass(slots=True)
class Amount:
    """A sum of the ledger's rows, exact; figures are rounded only when they are read."""

    milli_ms: int = 0
    priced: int = 0
    millijoules: int = 0

    def add(self, milli_ms: int, priced: int, millijoules: int) -> None:
        """Add to it."""
        self.milli_ms += milli_ms
        self.priced += priced
        self.millijoules += millijoules

    @property
    def gpu_hours(self) -> Decimal:
        """The time of whole GPUs."""
        return _rounded(Decimal(self.milli_ms) / _MILLI_MS_PER_GPU_HOUR)

    @property
    def dollars(self) -> Decimal:
        """What the time cost, in the currency of the pools' prices."""
        return _rounded(Decimal(self.priced) / _MILLI_MS_PER_GPU_HOUR / _MICRO)

    @property
    def kwh(self) -> Decimal:
        """The energy, where the GPUs' draw is known."""
        return _rounded(Decimal(self.millijoules) / _MILLIJOULES_PER_KWH)

    def grams(self, grams_per_kwh: float | None) -> float | None:
        """The carbon dioxide of the energy; None if nobody has said how much a kWh causes."""
        return None if grams_per_kwh is None else round(float(self.kwh) * grams_per_kwh, _DIGITS)


class Amounts:
    """Amounts by what the time went into."""

    def __init__(self) -> None:
        self._of: dict[Use, Amount] = defaultdict(Amount)

    def add(self, row: Sum) -> None:
        """Add a sum."""
        priced = row.milli_ms * row.place.microdollars
        self._of[row.use].add(row.milli_ms, priced, row.millijoules)

    def of(self, *uses: Use) -> Amount:
        """The amount that went into some uses together."""
        total = Amount()
        for part in (self._of[use] for use in uses if use in self._of):
            total.add(part.milli_ms, part.priced, part.millijoules)
        return total

    def __bool__(self) -> bool:
        return any(part.milli_ms for part in self._of.values())


@dataclass(frozen=True, slots=True)
class Row:
    """The amounts of one combination of what was asked for; a remainder tells only its time."""

    keys: Keys
    amounts: Amounts
    is_remainder: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """The rows of a query, in order, remainders last.

    `accounted_until` is None while the ledger is empty: nothing later is in any report.
    """

    query: Query
    rows: Sequence[Row]
    accounted_until: datetime | None


def usage(engine: Engine, query: Query) -> Report:
    """The report. Raises UnusableQuery if it had too many rows, and SQLAlchemyError."""
    with reading(engine) as connection:
        until_ms = accounted_until_ms(connection)
        try:
            found = [
                each
                for wanted in _wanted(query)
                for each in sums(connection, wanted, most=MOST_ROWS)
            ]
        except TooManySumsError as error:
            raise UnusableQuery(
                f"by: makes more than {MOST_ROWS} rows: ask for a shorter time, or by less"
            ) from error
    until = None if until_ms is None else datetime.fromtimestamp(until_ms / 1000, UTC)
    return Report(query, folded(query, found), until)


def folded(query: Query, found: Iterable[Sum]) -> tuple[Row, ...]:
    """The rows that sums add up to: by name what the reader may see, the rest by time alone."""
    named: dict[Keys, Amounts] = defaultdict(Amounts)
    remainder: dict[Keys, Amounts] = defaultdict(Amounts)
    times = tuple(each if each in TIMES else None for each in query.by)
    for each in found:
        if query.sight.shows(each.account.namespace):
            named[_keys(query.by, each)].add(each)
        else:
            remainder[_keys(times, each)].add(each)
    return (
        *(Row(keys, amounts) for keys, amounts in sorted(named.items(), key=_by_keys)),
        *(
            Row(keys, amounts, is_remainder=True)
            for keys, amounts in sorted(remainder.items(), key=_by_keys)
        ),
    )


def as_json(report: Report, grams_per_kwh: float | None = None) -> dict[str, Any]:
    """The report as the API answers it."""
    until = report.accounted_until
    return {
        "since": rfc3339(report.query.since),
        "until": rfc3339(report.query.until),
        "accountedUntil": None if until is None else rfc3339(until),
        "by": [each.value for each in report.query.by],
        "rows": [_json_row(report.query, row, grams_per_kwh) for row in report.rows],
    }


def _json_row(query: Query, row: Row, grams_per_kwh: float | None) -> dict[str, Any]:
    total, held = row.amounts.of(*NODE_TIME), row.amounts.of(*HELD)
    return {
        "keys": {each.value: key for each, key in zip(query.by, row.keys, strict=True)},
        "remainder": row.is_remainder,
        "gpuHours": float(held.gpu_hours),
        "gpuHoursByUse": {use.word: float(row.amounts.of(use).gpu_hours) for use in Use},
        "dollars": float(total.dollars),
        "kWh": float(total.kwh),
        "gramsCO2": total.grams(grams_per_kwh),
    }


def _wanted(query: Query) -> Iterator[Wanted]:
    if query.namespace and not query.sight.shows(query.namespace):
        return
    by_job = Dimension.JOB in query.by
    if Dimension.MONTH in query.by:
        yield from (Wanted(hours, "all", by_job, query.namespace) for hours in _months(query))
        return
    grains: Mapping[Dimension, Grain] = {Dimension.HOUR: "hour", Dimension.DAY: "day"}
    named: list[Grain] = [grains[each] for each in query.by if each in grains]
    yield Wanted(query.hours, named[0] if named else "all", by_job, query.namespace)


def _months(query: Query) -> Iterator[Hours]:
    """The hours of each month that the query reaches into."""
    start, end = query.hours
    while start < end:
        now = _time(start)
        year, month = (now.year + 1, 1) if now.month == 12 else (now.year, now.month + 1)  # noqa: PLR2004 - months
        following = int(datetime(year, month, 1, tzinfo=UTC).timestamp()) // _SECONDS_PER_HOUR
        yield Hours(start, min(end, following))
        start = following


def _by_keys(row: tuple[Keys, Amounts]) -> Keys:
    return row[0]


def _keys(by: Iterable[Dimension | None], row: Sum) -> Keys:
    return tuple(_KEYS[each](row) if each is not None else "" for each in by)


_KEYS: Final[Mapping[Dimension, Callable[[Sum], str]]] = {
    Dimension.QUEUE: lambda row: row.account.queue,
    Dimension.NAMESPACE: lambda row: row.account.namespace,
    Dimension.USER: lambda row: row.account.user,
    Dimension.JOB: lambda row: _job(row.account),
    Dimension.TYPE: lambda row: row.place.gpu_type,
    Dimension.POOL: lambda row: row.place.pool,
    Dimension.OPTION: lambda row: row.place.option,
    Dimension.FRACTION: lambda row: f"{row.place.share_milli / WHOLE_GPU_MILLI:g}",
    Dimension.HOUR: lambda row: rfc3339(_time(row.hour)),
    Dimension.DAY: lambda row: _time(row.hour).date().isoformat(),
    Dimension.MONTH: lambda row: f"{_time(row.hour):%Y-%m}",
}


def _job(account: Account) -> str:
    return f"{account.kind}/{account.namespace}/{account.name}" if account.kind else ""


def _time(hour: int) -> datetime:
    return datetime.fromtimestamp(hour * _SECONDS_PER_HOUR, UTC)


def _rounded(number: Decimal) -> Decimal:
    return round(number, _DIGITS)
