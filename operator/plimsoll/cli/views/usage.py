"""What was used and what it cost, as the console's ledger answers."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

import msgspec

from plimsoll.cli.output.document import Document
from plimsoll.cli.output.report import Line
from plimsoll.cli.output.table import Column, Table
from plimsoll.vocabulary.dimensions import Dimension

OTHERS: Final = "(others)"
_WAITING: Final = "waiting"
_USEFUL: Final = "useful"
_TITLES: Final = {Dimension.TYPE: "GPU TYPE", Dimension.OPTION: "PURCHASE OPTION"}
_TIMES: Final = (Dimension.HOUR, Dimension.DAY, Dimension.MONTH)
_AMOUNTS: Final = (
    Column("GPU-HOURS", is_number=True),
    Column("USEFUL", is_number=True),
    Column("WAITED", is_number=True),
    Column("WITHOUT JOB", is_number=True),
    Column("COST", is_number=True),
    Column("KWH", is_number=True),
)


class Used(Line, frozen=True):
    """What one combination of what was asked for used.

    `gpu_hours` are those of jobs. A `remainder` is what the reader may not see by name.
    """

    keys: Mapping[str, str]
    remainder: bool
    gpu_hours: float
    gpu_hours_by_use: Mapping[str, float]
    dollars: float
    kwh: float = msgspec.field(name="kWh")
    grams_co2: float | None = msgspec.field(name="gramsCO2", default=None)

    @property
    def waited(self) -> float:
        """The GPU-hours for which jobs waited: no node's time."""
        return self.gpu_hours_by_use.get(_WAITING, 0)

    @property
    def without_job(self) -> float:
        """The GPU-hours that no job had."""
        return max(0.0, sum(self.gpu_hours_by_use.values()) - self.waited - self.gpu_hours)

    @property
    def useful(self) -> float:
        """The GPU-hours in which pods of jobs worked."""
        return self.gpu_hours_by_use.get(_USEFUL, 0)


class Usage(Line, frozen=True):
    """What was used from `since` to `until`; `accounted_until` is None while nothing is known."""

    since: datetime
    until: datetime
    accounted_until: datetime | None
    by: tuple[str, ...]
    rows: tuple[Used, ...]


def usage_document(found: Usage) -> Document:
    """The report for people."""
    if found.accounted_until is None:
        return ["The ledger is empty: it begins when it is turned on."]
    begin, end = found.since, min(found.until, found.accounted_until)
    time = f"From {_time(begin)} to {_time(end)} UTC"
    if not found.rows:
        return [f"{time}, nothing that you may see was used."]
    return [f"{time}, {_sums(found)}.", usage_table(found)]


def _sums(found: Usage) -> str:
    """What jobs had together, and what that cost."""
    hours = sum(each.gpu_hours for each in found.rows)
    useful = sum(each.useful for each in found.rows)
    cost = sum(each.dollars for each in found.rows)
    without = sum(each.without_job for each in found.rows)
    others = f"; no job had {_hours(without)}" if without else ""
    return (
        f"jobs had {_hours(hours)} GPU-hours, {_share(useful, hours)} of them useful{others}; "
        f"all cost {cost:,.2f}"
    )


def usage_table(found: Usage) -> Table:
    """A row for each combination: in order of time, or the most GPU-hours first."""
    by = [Dimension(each) for each in found.by]
    uses = tuple(dict.fromkeys(use for row in found.rows for use in row.gpu_hours_by_use))
    rows = found.rows
    if not any(each in _TIMES for each in by):
        rows = tuple(sorted(rows, key=lambda row: (row.remainder, -row.gpu_hours)))
    return Table(
        (
            *(Column(_TITLES.get(each, each.value.upper())) for each in by),
            *_AMOUNTS,
            Column("KG CO2", is_number=True, is_wide=True),
            *(Column(use.upper(), is_number=True, is_wide=True) for use in uses),
        ),
        tuple(tuple(_cells(row, found.by, uses)) for row in rows),
    )


def _cells(row: Used, by: tuple[str, ...], uses: tuple[str, ...]) -> Iterator[str]:
    unnamed = OTHERS if row.remainder else "-"
    yield from (row.keys[each] or unnamed for each in by)
    yield _hours(row.gpu_hours)
    yield _share(row.useful, row.gpu_hours)
    yield _hours(row.waited)
    yield _hours(row.without_job)
    yield f"{row.dollars:,.2f}"
    yield f"{row.kwh:,.1f}"
    yield "-" if row.grams_co2 is None else f"{row.grams_co2 / 1000:,.1f}"
    yield from (_hours(row.gpu_hours_by_use.get(use, 0)) for use in uses)


def _hours(value: float) -> str:
    return f"{value:,.1f}"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
