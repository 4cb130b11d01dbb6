"""A cluster whose whole history is known, and consoles that keep its ledger, for property tests."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlalchemy import Engine, event
from sqlalchemy.exc import OperationalError

from plimsoll_console.ledger.accounting.observation import Holding, Observation, SeenNode
from plimsoll_console.ledger.database.store import Store
from plimsoll_console.ledger.keeper import Keeper
from plimsoll_console.ledger.terms import Terms
from support.ledger.seen import H100, START, a_node, a_pod, an_account

GPUS = 2


@dataclass
class World:
    """Nodes and pods, past ones too. `gone` are pods of which nothing tells any more."""

    now: int = START

    def __post_init__(self) -> None:
        self.nodes: list[SeenNode] = []
        self.pods: dict[str, Holding] = {}
        self.gone: set[str] = set()
        self.add_node()

    def add_node(self) -> None:
        name = f"n{len(self.nodes)}"
        place = replace(H100, pool=name)
        self.nodes.append(a_node(name, GPUS, created=self.now, place=place))

    def add_pod(self, node: int, milli: int) -> None:
        """Start a pod of a job of its own, if there is room."""
        where = self.nodes[node % len(self.nodes)]
        held = sum(p.milli for p in self.pods.values() if p.node == where.uid and p.ends_ms is None)
        if held + milli > GPUS * 1000:
            return
        name = f"p{len(self.pods)}"
        node_name = where.uid.removeprefix("uid-")
        pod = a_pod(name, milli=milli, node=node_name, since=self.now, works=self.now)
        self.pods[name] = replace(pod, account=an_account(name))

    def end_pod(self, which: int, *, is_told: bool) -> None:
        running = [name for name, pod in self.pods.items() if pod.ends_ms is None]
        if running:
            name = running[which % len(running)]
            self.pods[name] = replace(self.pods[name], ends_ms=self.now)
            if not is_told:
                self.gone.add(name)

    def seen(self) -> Observation:
        told = tuple(pod for name, pod in self.pods.items() if name not in self.gone)
        return Observation(self.now, tuple(self.nodes), told)


@contextmanager
def failing_at(engine: Engine, statement: int) -> Generator[None]:
    """Have the connection die before so many more statements."""
    left = [statement]

    def die(*_: object) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OperationalError("killed", {}, Exception("the connection is gone"))

    event.listen(engine, "before_cursor_execute", die)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", die)


@contextmanager
def unanswered_commits(engine: Engine) -> Generator[None]:
    """Have all commits succeed, and none be answered."""
    commit = engine.dialect.do_commit

    def lose(connection: object) -> None:
        commit(connection)  # pyright: ignore[reportArgumentType]
        raise OperationalError("commit", {}, Exception("the answer was lost"))

    engine.dialect.do_commit = lose  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        engine.dialect.do_commit = commit  # pyright: ignore[reportAttributeAccessIssue]


def a_console(engine: Engine, world: World) -> Keeper:
    return Keeper(Store(engine), Terms(), clock=lambda: world.now / 1000)
