"""Rows are written once, in SQLite and in PostgreSQL."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, text

from plimsoll_console.ledger.accounting.accrual import accrued
from plimsoll_console.ledger.accounting.observation import MS_PER_HOUR, Loss, Observation
from plimsoll_console.ledger.accounting.tally import Use
from plimsoll_console.ledger.database.connection import connected
from plimsoll_console.ledger.database.store import Batch, Store
from plimsoll_console.ledger.database.tables import METADATA
from support.ledger.rows import by_use_in, count_in
from support.ledger.seen import MINUTE, START, a_node, a_pod, an_account, at

NODES = [a_node()]
PODS = [a_pod("a", milli=2000, since=0, works=0)]


@pytest.fixture
def store(engine: Engine) -> Store:
    store = Store(engine)
    store.open()
    store.begin(at(START, NODES, PODS))
    return store


def a_batch(minutes: int, base: int = START, losses: tuple[Loss, ...] = ()) -> Batch:
    until = at(base + minutes * MINUTE, NODES, PODS)
    return Batch(base, until, accrued(at(base, NODES, PODS), until), losses)


def test_tables_are_those_that_the_code_knows(engine: Engine) -> None:
    Store(engine).open()
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    file.mkdir()
    with pytest.raises(OSError, match=rf"{file} cannot be opened: let user {os.getuid()} write"):
        Store(connected(f"sqlite:///{file}")).open()


def test_opening_twice_changes_nothing(store: Store, engine: Engine) -> None:
    assert store.write(a_batch(1))
    Store(engine).open()
    assert by_use_in(engine)[Use.USEFUL] == 2000 * MINUTE


def test_what_was_seen_is_remembered(store: Store) -> None:
    batch = a_batch(1)
    assert store.write(batch)
    assert store.last_seen() == batch.until
    assert store.accounted_until() == START + MINUTE


def test_of_two_writers_of_the_same_time_one_writes(store: Store, engine: Engine) -> None:
    other = Store(engine)
    assert other.write(a_batch(2))
    assert not store.write(a_batch(1))
    assert store.accounted_until() == START + 2 * MINUTE
    assert sum(by_use_in(engine).values()) == 8000 * 2 * MINUTE


def test_a_writer_that_wakes_up_late_writes_nothing(store: Store, engine: Engine) -> None:
    late = a_batch(1)
    assert store.write(a_batch(1))
    assert store.write(a_batch(5, START + MINUTE))
    assert not Store(engine).write(late)


def test_hours_and_days_add_up_alike(store: Store, engine: Engine) -> None:
    base = START
    for _ in range(30):
        assert store.write(a_batch(60, base))
        base += MS_PER_HOUR
    assert by_use_in(engine) == by_use_in(engine, "days")
    assert sum(by_use_in(engine).values()) == 8000 * 30 * MS_PER_HOUR


def test_lost_work_moves_from_useful_time_the_latest_first_and_once(
    store: Store, engine: Engine
) -> None:
    loss = Loss(an_account(), START + 90 * MINUTE, 2000 * 45 * MINUTE)
    assert store.write(a_batch(90, losses=(loss,)))
    before = by_use_in(engine)
    assert before[Use.LOST] == loss.milli_ms
    assert before[Use.USEFUL] == 2000 * 45 * MINUTE
    assert store.write(a_batch(1, START + 90 * MINUTE, losses=(loss,)))
    assert by_use_in(engine)[Use.LOST] == loss.milli_ms
    assert by_use_in(engine) == by_use_in(engine, "days")


def test_no_more_can_be_lost_than_was_useful(store: Store, engine: Engine) -> None:
    loss = Loss(an_account(), START + MINUTE, 10**15)
    assert store.write(a_batch(1, losses=(loss,)))
    assert by_use_in(engine).get(Use.USEFUL) is None
    assert sum(by_use_in(engine).values()) == 8000 * MINUTE


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        "\u202eevil\u2066",
        "n" * 512,
        "'; DROP TABLE hours; --",
        '{}[]\\"',
    ],
)
def test_hostile_names_are_kept_as_they_are(store: Store, engine: Engine, name: str) -> None:
    pod = a_pod("a", since=0, works=0, account=an_account(name))
    until = at(START + MINUTE, NODES, [pod])
    assert store.write(Batch(START, until, accrued(at(START, NODES, [pod]), until)))
    assert store.last_seen() == until
    assert by_use_in(engine)[Use.USEFUL] == 1000 * MINUTE


def test_what_is_too_old_is_forgotten_with_its_jobs(store: Store, engine: Engine) -> None:
    assert store.write(a_batch(60))
    later = START + 48 * MS_PER_HOUR
    seen = at(later, NODES)
    assert store.write(Batch(START + MS_PER_HOUR, seen, accrued(at(later - MINUTE, NODES), seen)))
    store.forget_before(later // MS_PER_HOUR - 1)
    assert sum(by_use_in(engine).values()) == 8000 * MINUTE
    assert by_use_in(engine) == by_use_in(engine, "days")
    assert count_in(engine, "jobs") == 1


def test_an_observation_of_another_version_shows_nothing(store: Store, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE standing SET observation = :junk"), {"junk": b"junk"})
    assert store.last_seen() == Observation(START)


def test_a_losing_write_changes_nothing(store: Store, engine: Engine) -> None:
    batch = replace(a_batch(1), base_ms=START - 1)
    assert not store.write(batch)
    assert by_use_in(engine) == {}
