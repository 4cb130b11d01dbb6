"""What a ledger's database holds, beside what there was, and how fast it answers."""

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Final

from sqlalchemy import Engine, text

from plimsoll_bench.ledger.year import FIRST_HOUR, Year
from plimsoll_console.ledger.accounting.tally import Use
from plimsoll_console.reports.query import Fields, Query
from plimsoll_console.reports.usage import HELD, as_json, usage

PERCENT: Final = 100
_ASKED: Final = 3
_MEBIBYTE: Final = 1 << 20
_HELD: Final = ", ".join(str(int(use)) for use in HELD)


def lost_percent(engine: Engine, year: Year, hours: int) -> float:
    """What is missing of the nodes' time, or of what jobs held, whichever is more, in percent."""
    with engine.begin() as connection:
        statement = text(f"SELECT sum(milli_ms) FROM hours WHERE use != {int(Use.WAITING)}")  # noqa: S608 - a number
        nodes = int(connection.execute(statement).scalar_one())
    there, held = year.node_milli_ms * hours, sum(year.held_milli_ms)
    charged = sum(min(had, got) for had, got in _charged(engine, year))
    missing = abs(there - nodes) / there, (held - charged) / held
    return PERCENT * max(missing)


def doubled_rows(engine: Engine, year: Year) -> int:
    """How many jobs are charged for more than they held, and hours for more than nodes had."""
    statement = text(
        "SELECT count(*) FROM (SELECT hour FROM hours GROUP BY hour"
        " HAVING sum(milli_ms) > :most) AS doubled"
    )
    with engine.begin() as connection:
        hours = connection.execute(statement, {"most": year.node_milli_ms}).scalar_one()
    return int(hours) + sum(got > had for had, got in _charged(engine, year))


def report_seconds(engine: Engine, days: int, by: str, hours: int) -> float:
    """How long a report of the last days takes, as it is sent: the median of some."""
    now = datetime.fromtimestamp((FIRST_HOUR + hours) * 3600, UTC)
    taken: list[float] = []
    for _ in range(_ASKED):
        began = time.perf_counter()
        since = (now - timedelta(days=days)).isoformat()
        answer = as_json(usage(engine, Query.parsed(Fields(since, by=by), now)))
        taken.append(time.perf_counter() - began)
        if not answer["rows"]:
            raise SystemExit(f"the report of {days} days by {by} is empty")
    return round(median(taken), 3)


def mebibytes(engine: Engine) -> float:
    """The size of the database on disk, with what is still in its log."""
    if engine.dialect.name == "sqlite":
        file = Path(str(engine.url.database))
        size = sum(each.stat().st_size for each in file.parent.glob(f"{file.name}*"))
    else:
        with engine.connect() as connection:
            asked = text("SELECT pg_database_size(current_database())")
            size = connection.execute(asked).scalar_one()
    return round(size / _MEBIBYTE, 1)


def rows(engine: Engine) -> int:
    """How many rows by the hour there are."""
    with engine.begin() as connection:
        return int(connection.execute(text("SELECT count(*) FROM hours")).scalar_one())


def percentile(seconds: Sequence[float], percent: int) -> float:
    """The time within which so many percent were done."""
    ordered = sorted(seconds)
    return round(ordered[min(len(ordered) - 1, len(ordered) * percent // PERCENT)], 3)


def _charged(engine: Engine, year: Year) -> Iterator[tuple[int, int]]:
    """What each job held, and what it is charged for."""
    statement = text(
        f"SELECT jobs.name, sum(hours.milli_ms) FROM hours JOIN jobs ON jobs.id = hours.job"  # noqa: S608 - numbers
        f" WHERE hours.use IN ({_HELD}) GROUP BY jobs.id, jobs.name"
    )
    with engine.begin() as connection:
        got = {name: int(amount) for name, amount in connection.execute(statement)}
    for number, had in enumerate(year.held_milli_ms):
        yield had, got.get(f"job-{number}", 0)
