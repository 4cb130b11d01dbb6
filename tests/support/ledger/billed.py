"""A ledger of two teams over some days, written as the console writes it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import Engine

from plimsoll_console.ledger.accounting.accrual import LONGEST_STEP_MS, accrued
from plimsoll_console.ledger.accounting.observation import MS_PER_HOUR, Holding, SeenNode
from plimsoll_console.ledger.accounting.tally import Tally
from plimsoll_console.ledger.database.store import Batch, Store
from support.ledger.seen import H100, START, a_node, a_pod, an_account, at

NOW = datetime.fromtimestamp(START / 1000, UTC)
A, B = "team-a", "team-b"
SPOT = replace(H100, pool="spot", option="Spot", microdollars=1_000_000)


def a_ledger(engine: Engine, hours: int) -> None:
    """Hours up to NOW in which team A has two GPUs at 2.50, and team B four at 1.00.

    Two GPUs of the first node are idle. Written in steps of an hour.
    """
    nodes = [a_node("n1", 4), a_node("n2", 4, place=SPOT)]
    pods = [
        _pod("a", "n1", 2000, "research", A),
        _pod("b", "n2", 4000, "sales", B),
    ]
    _write(engine, nodes, pods, hours)


def _pod(name: str, node: str, milli: int, queue: str, namespace: str) -> Holding:
    account = an_account(name, queue, namespace)
    return a_pod(name, milli=milli, node=node, since=0, works=0, account=account)


def _write(engine: Engine, nodes: Sequence[SeenNode], pods: Sequence[Holding], hours: int) -> None:
    store = Store(engine)
    store.open()
    base = at(START - hours * MS_PER_HOUR, nodes, pods)
    store.begin(base)
    for _ in range(hours):
        tally, before = Tally(), base
        for _ in range(MS_PER_HOUR // LONGEST_STEP_MS):
            after = replace(before, at_ms=before.at_ms + LONGEST_STEP_MS)
            tally.add(accrued(before, after))
            before = after
        assert store.write(Batch(base.at_ms, before, tally))
        base = before
