"""Look beside the loop, while nobody waits, for nodes that can go, and for better ones to buy."""

import asyncio
from collections.abc import Callable, Hashable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from plimsoll.clock import Clock
from plimsoll.control.solving.solver import Solver, outcome
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.buying.purchases import Purchases
from plimsoll.planning.provisioning.future_nodes import future_nodes
from plimsoll.planning.provisioning.start_times import start_time
from plimsoll.planning.provisioning.trading.trade_search import (
    Fleet,
    Found,
    awaits_nodes,
    trade_search,
)
from plimsoll.supervision import count_failure, result_of
from plimsoll_placement.problem import Problem

PAUSE_SECONDS: Final = 30.0
"""Between two looks."""
LONGEST_PAUSE_SECONDS: Final = 480.0
"""The same where all is as it was when nothing was found: only what moves throw away changes."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What there is to do for nodes.

    `settled`: the problem as the plan leaves it, if that is known. `used`: the nodes that have
    jobs, or await some. `waits`: jobs would start if they had GPUs. `blocked`: the pools of which
    nothing can be bought now.
    """

    settled: Problem | None
    used: AbstractSet[str]
    waits: bool
    blocked: AbstractSet[str]


class Consolidation:
    """Takes a turn after each of the loop's.

    `emptied` is a node that can be emptied now. What running jobs would be better off on is to be
    ordered, or on its way; it stands until the next look.
    """

    def __init__(self, solver: Solver, clock: Clock, woken: Callable[[], None]) -> None:
        self._solver, self._clock, self._woken = solver, clock, woken
        self._builder = ProblemBuilder()
        self._task: asyncio.Task[Found] | None = None
        self._looked_at, self._pause = -PAUSE_SECONDS, PAUSE_SECONDS
        self._looked_for: Hashable = None
        """What the last look began with, apart from what moves throw away."""
        self._waited: datetime | None = None
        """When somebody last waited for a place."""
        self._found, self._is_new = Found(), False
        self._seen = self._known = frozenset[str]()
        """The orders that the last look saw, and those that the one saw which found this."""
        self.emptied: str | None = None

    def turn(self, snapshot: Snapshot, demand: Demand) -> None:
        """Take what was found, and begin to look anew."""
        self.emptied, settled = None, demand.settled
        if demand.waits:
            self._waited = snapshot.now
        if self._task is not None and self._task.done():
            before, self._found = self._found, result_of(self._task) or Found()
            self.emptied = None if demand.waits else self._found.emptied
            self._is_new = self._found.bought is not before.bought
            self._known = self._seen
            self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)
            if self._found.emptied or self._found.bought.waiting or self._found.tried:
                self._pause = PAUSE_SECONDS
            self._task = None
        if settled is None or self._task is not None or demand.waits:
            return
        paused = self._clock.monotonic() - self._looked_at
        if paused < PAUSE_SECONDS and not self._has_all_come(snapshot):
            return
        is_quiet = self._is_quiet(snapshot)
        basis = _basis(snapshot, settled, demand, is_quiet=is_quiet)
        if basis != self._looked_for:
            self._pause = PAUSE_SECONDS
        elif paused < self._pause:
            return
        self._looked_at, self._looked_for = self._clock.monotonic(), basis
        self._seen = _orders(snapshot)
        fleet = Fleet(snapshot, settled, future_nodes(snapshot, demand.blocked), is_quiet)
        search = trade_search(fleet, self._found, self._builder)
        self._task = asyncio.create_task(outcome(self._solver, search))
        self._task.add_done_callback(self._done)

    def due(self, snapshot: Snapshot) -> tuple[Purchases, str]:
        """What to order now, once, and why; nothing if orders have come or gone meanwhile."""
        is_new, self._is_new = self._is_new, False
        same = self._known == _orders(snapshot)
        return (self._found.bought, self._found.why) if is_new and same else (Purchases(), "")

    def spared(self, snapshot: Snapshot) -> frozenset[str]:
        """The orders that are not to be taken back though nobody waits for them.

        They are for jobs that run, or may be: no look has known them yet.
        """
        waiting = self._found.bought.waiting
        coming = (each for nodes in waiting.values() for each in nodes)
        known = {each.order.name for each in coming if each.order is not None}
        new = _orders(snapshot) - self._known if waiting else frozenset[str]()
        return frozenset(known) | new

    def _done(self, task: "asyncio.Task[Found]") -> None:
        """A look is over; an error costs this look, and is counted."""
        count_failure("consolidation", task)
        self._woken()

    def _has_all_come(self, snapshot: Snapshot) -> bool:
        """Whether all has come that was bought since the last look."""
        if not self._found.bought.waiting or _orders(snapshot) == self._known:
            return False
        return not awaits_nodes(snapshot)

    def _is_quiet(self, snapshot: Snapshot) -> bool:
        """Whether nobody has waited for as long as nodes take to start."""
        if self._waited is None:
            return True
        bought = (pool for pool in snapshot.pools if pool.spec.provisioning is not None)
        longest = max(start_time(pool, snapshot) for pool in bought)
        return snapshot.now - self._waited > longest


def _basis(snapshot: Snapshot, settled: Problem, demand: Demand, *, is_quiet: bool) -> Hashable:
    """What decides what a look finds, apart from what moves throw away."""
    orders = frozenset((each.name, each.arrived, each.leaving) for each in snapshot.orders)
    prices = frozenset((p.metadata.uid, p.spec.price_per_gpu_hour) for p in snapshot.pools)
    places = tuple((job.name, job.running, job.pinned) for job in settled.jobs)
    return orders, prices, places, demand.blocked, is_quiet


def _orders(snapshot: Snapshot) -> frozenset[str]:
    return frozenset(order.name for order in snapshot.orders)
