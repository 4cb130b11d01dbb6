"""Whatever happens to consoles and databases, no GPU time is lost or counted twice."""

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from plimsoll_console.ledger.accounting.accrual import LONGEST_STEP_MS
from plimsoll_console.ledger.accounting.tally import Use
from plimsoll_console.ledger.database.connection import connected
from plimsoll_console.ledger.database.schema import migrate
from plimsoll_console.ledger.database.store import Store
from support.ledger.rows import by_use_in
from support.ledger.world import World, a_console, failing_at, unanswered_commits

CONSOLES = (0, 1)
SECONDS = (1, 15, 15, 60, 100, 300, 7200)

consoles = st.sampled_from(CONSOLES)
faults = st.one_of(st.none(), st.none(), st.just("unanswered"), st.integers(0, 14))
writes = st.tuples(st.just("write"), consoles, faults)
looks = st.tuples(st.just("see"), consoles)
events = st.one_of(
    *(looks, looks, writes, writes),
    st.tuples(st.just("pod"), st.integers(0, 3), st.sampled_from([250, 500, 1000, 2000])),
    st.tuples(st.just("end"), st.integers(0, 9), st.booleans()),
    st.tuples(st.just("node")),
    st.tuples(st.just("restart"), consoles),
)
histories = st.lists(st.tuples(st.sampled_from(SECONDS), events), min_size=30, max_size=80)


@pytest.fixture(scope="module")
def tables() -> Iterator[Path]:
    """A database with empty tables, to be copied."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "empty.db")
        engine = connected(f"sqlite:///{file}")
        migrate(engine)
        engine.dispose()
        yield file


def fault(engine: Engine, kind: str | int | None) -> AbstractContextManager[None]:
    match kind:
        case None:
            return nullcontext()
        case int():
            return failing_at(engine, kind)
        case _:
            return unanswered_commits(engine)


class Run:
    """A history as it unfolds, with two consoles that share a database."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.world = engine, World()
        self.consoles = [a_console(engine, self.world) for _ in CONSOLES]
        self.consoles[0].see(self.world.seen())
        self.consoles[0].write()

    def happen(self, what: tuple[object, ...]) -> None:
        match what:
            case ["node"]:
                self.world.add_node()
            case ["pod", int(node), int(milli)]:
                self.world.add_pod(node, milli)
            case ["end", int(which), bool(is_told)]:
                self.world.end_pod(which, is_told=is_told)
            case ["see", int(which)]:
                self.consoles[which].see(self.world.seen())
            case ["restart", int(which)]:
                self.consoles[which] = a_console(self.engine, self.world)
            case ["write", int(which), str() | int() | None as kind]:
                with fault(self.engine, kind), suppress(OperationalError):
                    self.consoles[which].write()
            case _:
                raise AssertionError(what)

    def finish(self) -> None:
        """Let a new console take over, and bring the ledger up to date."""
        console = a_console(self.engine, self.world)
        self.world.now += 1000
        console.see(self.world.seen())
        console.write()
        assert Store(self.engine).accounted_until() == self.world.now


def sums(engine: Engine, column: str) -> dict[str, int]:
    """Node time by a column's values; waiting is none."""
    statement = (
        f"SELECT {column}, sum(milli_ms) FROM hours"  # noqa: S608 - ours
        " JOIN places ON places.id = place JOIN jobs ON jobs.id = job"
        f" WHERE use != {int(Use.WAITING)} GROUP BY {column}"
    )
    with engine.begin() as connection:
        return {name: int(amount) for name, amount in connection.execute(text(statement))}


@given(history=histories)
def test_rows_sum_to_the_nodes_time_and_no_job_is_charged_for_more_than_it_had(
    history: list[tuple[int, tuple[object, ...]]], tables: Path
) -> None:
    with TemporaryDirectory() as folder:
        shutil.copy(tables, Path(folder, "ledger.db"))
        engine = connected(f"sqlite:///{Path(folder, 'ledger.db')}")
        run = Run(engine)
        for seconds, what in history:
            run.world.now += seconds * 1000
            run.happen(what)
        run.finish()
        now = run.world.now
        assert sums(engine, "pool") == {
            devices.place.pool: devices.milli * (now - node.created_ms)
            for node in run.world.nodes
            for devices in node.devices
        }
        assert by_use_in(engine) == by_use_in(engine, "days")
        charged = sums(engine, "name")
        for name, pod in run.world.pods.items():
            had = pod.milli * ((pod.ends_ms or now) - pod.since_ms)
            # One that ended without a trace may have held on for all of the last step.
            more = pod.milli * LONGEST_STEP_MS if name in run.world.gone else 0
            assert charged.get(name, 0) <= had + more
            if name not in run.world.gone:
                assert charged.get(name, 0) == had
        engine.dispose()
