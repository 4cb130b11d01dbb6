"""The ledger is kept whatever its database does."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from plimsoll.observe.snapshot import Snapshot
from plimsoll_console.ledger.accounting.observation import Observation
from plimsoll_console.ledger.accounting.tally import Use
from plimsoll_console.ledger.book import Book
from plimsoll_console.ledger.database.connection import connected
from plimsoll_console.ledger.database.store import Store
from plimsoll_console.ledger.keeper import Keeper
from plimsoll_console.ledger.terms import Terms
from plimsoll_devcluster.processes.postgresql_server import PostgresqlServer
from support.ledger.rows import by_use_in
from support.ledger.seen import MINUTE, START, a_node, a_pod, at
from support.programs.asynchronous import asynchronous, until

NODES, PODS = [a_node()], [a_pod("a", milli=2000, since=0, works=0)]


def seen(minutes: int) -> Observation:
    return at(START + minutes * MINUTE, NODES, PODS)


def a_keeper(engine: Engine, clock: Callable[[], float] = time.monotonic, rows: int = 9) -> Keeper:
    return Keeper(Store(engine), Terms(), book=Book(most_rows=rows), clock=clock)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_what_was_seen_while_the_database_was_away_is_written_when_it_is_back(
    postgresql: PostgresqlServer, database: str
) -> None:
    engine = connected(database)
    keeper = a_keeper(engine)
    keeper.see(seen(0))
    keeper.write()
    postgresql.stop()
    for minute in range(1, 4):
        keeper.see(seen(minute))
        with pytest.raises((SQLAlchemyError, OSError)):
            keeper.write()
    postgresql.start()
    keeper.see(seen(4))
    keeper.write()
    assert by_use_in(engine) == {Use.USEFUL: 2000 * 4 * MINUTE, Use.IDLE: 6000 * 4 * MINUTE}
    engine.dispose()


def test_a_long_outage_is_made_up_for_from_what_was_seen_at_both_ends(tmp_path: Path) -> None:
    engine = connected(f"sqlite:///{tmp_path / 'ledger.db'}")
    keeper = a_keeper(engine, rows=3)
    keeper.see(seen(0))
    keeper.write()
    for minute in range(1, 200):
        keeper.see(seen(minute))
    keeper.write()
    assert by_use_in(engine) == {
        Use.USEFUL: 2000 * 199 * MINUTE,
        Use.UNOBSERVED: 6000 * 199 * MINUTE,
    }


def test_a_full_disk_delays_and_loses_nothing(tmp_path: Path) -> None:
    engine = connected(f"sqlite:///{tmp_path / 'ledger.db'}")
    keeper = a_keeper(engine, rows=100_000)
    keeper.see(seen(0))
    keeper.write()
    with engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    crowd = [a_pod(f"p{n}", milli=1, since=0, works=0) for n in range(5000)]
    keeper.see(at(START + MINUTE, NODES, crowd))
    with pytest.raises(OperationalError, match="full"):
        keeper.write()
    engine.dispose()  # other connections have no such limit
    keeper.write()
    assert sum(by_use_in(engine).values()) == 8000 * MINUTE


def test_another_console_takes_over_when_nothing_is_written(tmp_path: Path) -> None:
    engine = connected(f"sqlite:///{tmp_path / 'ledger.db'}")
    now = 0.0
    first, second = (a_keeper(engine, clock=lambda: now) for _ in range(2))
    for each in (first, second):
        each.see(seen(0))
        each.write()
    for minute in (1, 2, 3):
        now = minute * 60.0
        for each in (first, second):
            each.see(seen(minute))
            each.write()
        assert sum(by_use_in(engine).values()) == 8000 * minute * MINUTE
    for minute in (4, 5, 6):
        now = minute * 60.0
        second.see(seen(minute))
        second.write()
    assert Store(engine).accounted_until() == START + 6 * MINUTE
    assert sum(by_use_in(engine).values()) == 8000 * 6 * MINUTE


@asynchronous
async def test_it_looks_on_and_says_why_it_cannot_write(tmp_path: Path) -> None:
    """The event loop never waits for the database."""
    in_the_way = tmp_path / "ledger.db"
    in_the_way.mkdir()
    terms = Terms(look_seconds=0.01, write_seconds=0.01, longest_rest_seconds=0.01)
    keeper = Keeper(Store(connected(f"sqlite:///{in_the_way}")), terms)
    looks = 0

    def snapshot() -> Snapshot | None:
        nonlocal looks
        looks += 1

    task = asyncio.create_task(keeper.run(snapshot))
    await until(lambda: keeper.problem)
    assert looks > 1
    assert "cannot be opened: let user" in keeper.problem
    assert keeper.late.startswith("the ledger cannot be written since 20")
    assert "database file" not in keeper.late
    in_the_way.rmdir()
    await until(lambda: not keeper.problem)
    assert not keeper.late
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
