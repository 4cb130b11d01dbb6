"""A year of the ledger: what is lost or doubled, how large it gets and how fast it answers.

    python bench/ledger.py --json
    python bench/ledger.py --json --database postgresql://user@host/empty

Jobs come evenly, `--jobs-per-day` of them for `--days`, hold an eighth of a node to all of it for
three hours on average, and end. Consoles keep the ledger by the product's own path, in simulated
time: one that was just restarted looks and writes at the end of each day, all of its hours. Each
week the answer of a commit is lost, and another console that has seen the same writes late.

Nodes' time without a job is unobserved here, as nobody looks within the day. Without `--database`
both a SQLite file and a PostgreSQL of its own, in temporary folders, are filled one after the other
(PostgreSQL writes as it does for others, with its standard settings).
"""

import argparse
import gc
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from plimsoll.control.loop_terms import GC_THRESHOLDS
from plimsoll_bench.ledger import figures
from plimsoll_bench.ledger.year import FIRST_HOUR, HOURS_PER_DAY, Size, Year
from plimsoll_bench.output import print_json
from plimsoll_console.ledger.accounting.observation import MS_PER_HOUR, Observation
from plimsoll_console.ledger.database.connection import UnusableDatabase, connected
from plimsoll_console.ledger.database.store import Store
from plimsoll_console.ledger.keeper import Keeper
from plimsoll_console.ledger.terms import Terms
from plimsoll_devcluster.processes.postgresql_server import PostgresqlServer
from plimsoll_devcluster.programs.postgresql_program import find_postgresql

MOST_LOST_PERCENT = 0.1
DAYS_PER_WEEK = 7


class Consoles:
    """The console that keeps the ledger, and those that get in its way."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._day = engine, 0
        self._keeper = self._console()
        self.write_seconds: list[float] = []

    def begin(self, first: Observation) -> None:
        """Begin the ledger."""
        self._keeper.see(first)
        self._keeper.write()

    def go_on(self, before: Observation, seen: Observation) -> None:
        """Account for a day, after a restart; each week, things go wrong."""
        consoles = [self._console() for _ in range(2 if self._day % DAYS_PER_WEEK == 0 else 1)]
        for each in consoles:
            each.see(before)
            each.write()
            each.see(seen)
        self._keeper, *late = consoles
        began = time.perf_counter()
        if late:
            self._write_unanswered()
        self._keeper.write()
        self.write_seconds.append(time.perf_counter() - began)
        for each in late:
            each.write()
        self._day += 1

    def _write_unanswered(self) -> None:
        """Write, and get no answer though it succeeds."""
        commit = self._engine.dialect.do_commit

        def lose(dbapi_connection: Any) -> None:  # noqa: ANN401 - any driver's
            commit(dbapi_connection)
            raise OperationalError("commit", {}, Exception("the answer was lost"))

        self._engine.dialect.do_commit = lose
        try:
            self._keeper.write()
        except OperationalError:
            return
        finally:
            self._engine.dialect.do_commit = commit
        raise SystemExit("a commit whose answer was to be lost was answered")

    def _console(self) -> Keeper:
        clock = self._day * 86_400.0
        return Keeper(Store(self._engine), Terms(retention_days=3650), clock=lambda: clock)


def measured(url: str, size: Size) -> dict[str, Any]:
    """All figures of a database, which must be empty. Ends the program where they make no sense."""
    engine, year = connected(url), Year(size)
    consoles = Consoles(engine)
    began = time.perf_counter()
    before = year.first()
    consoles.begin(before)
    for seen in year.days():
        consoles.go_on(before, seen)
        before = seen
    took = time.perf_counter() - began
    hours = size.days * HOURS_PER_DAY
    year.finish((FIRST_HOUR + hours) * MS_PER_HOUR)
    found = {
        "lost_percent": figures.lost_percent(engine, year, hours),
        "doubled_rows": figures.doubled_rows(engine, year),
        "report_seconds": figures.report_seconds(engine, 30, "queue,type", hours),
        "report_seconds_all": figures.report_seconds(engine, size.days, "queue,type", hours),
        "report_seconds_month_by_month": figures.report_seconds(
            engine, size.days, "month,queue", hours
        ),
        "report_seconds_day_by_job": figures.report_seconds(engine, 1, "job", hours),
        "mebibytes": figures.mebibytes(engine),
        "jobs": len(year.held_milli_ms),
        "not_placed": year.not_placed,
        "nodes": size.nodes,
        "rows": figures.rows(engine),
        "write_seconds_median": figures.percentile(consoles.write_seconds, 50),
        "write_seconds_p99": figures.percentile(consoles.write_seconds, 99),
        "seconds": round(took, 1),
    }
    engine.dispose()
    return found


def databases(stack: ExitStack, given: str | None) -> Iterator[tuple[str, str]]:
    """The databases to measure, by name."""
    if given is not None:
        yield connected(given).dialect.name, given
        return
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="plimsoll-ledger-"))
    yield "sqlite", f"sqlite:///{Path(folder, 'ledger.db')}"
    server = stack.enter_context(PostgresqlServer(find_postgresql(os.environ), options=()))
    yield "postgresql", server.url


def main() -> None:
    """Measure, print, and fail if time was lost or counted twice."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one line")
    parser.add_argument("--database", help="the URL of an empty database; default: both kinds")
    parser.add_argument("--jobs-per-day", type=_count, default=5000)
    parser.add_argument("--days", type=_count, default=365)
    arguments = parser.parse_args()
    size = Size(arguments.jobs_per_day, arguments.days)
    gc.set_threshold(*GC_THRESHOLDS)  # as the console does
    with ExitStack() as stack:
        try:
            found = {n: measured(url, size) for n, url in databases(stack, arguments.database)}
        except UnusableDatabase as error:
            parser.error(f"--database {error}")
    print_json(found, indent=None if arguments.json else 2)
    for name, each in found.items():
        if each["lost_percent"] > MOST_LOST_PERCENT or each["doubled_rows"]:
            raise SystemExit(f"{name}: time was lost or counted twice")


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


if __name__ == "__main__":
    main()
