"""Buy nodes for the jobs that a plan leaves waiting, and give idle ones back.

What to buy is worked out beside the loop, whenever the plan or the orders have changed, and acted
on only if no order has come or gone meanwhile: nothing is bought twice.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from plimsoll.acting.nodes.node_claims import next_name
from plimsoll.acting.writes.node_claims import Buy
from plimsoll.acting.writes.writer import Writer
from plimsoll.api.gpu_pool import GPUPool, ProvisioningStatus
from plimsoll.api.parts.node_claim_template import NodeClaimTemplate
from plimsoll.clock import Clock
from plimsoll.control.current_plan import CurrentPlan
from plimsoll.control.giving_back import GivingBack
from plimsoll.control.solver import Solver
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.actions import Hold
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.future_nodes import (
    future_nodes,
    hourly_price,
    room_for_more,
    template_of,
)
from plimsoll.planning.provisioning.idle_nodes import in_use
from plimsoll.planning.provisioning.limits import Limits
from plimsoll.planning.provisioning.purchases import (
    Offer,
    Purchases,
    left_out,
    left_per_hour,
    offer_to,
    unpriced,
)
from plimsoll.planning.provisioning.search import purchase_search
from plimsoll.planning.provisioning.sentences import explained, obstacle
from plimsoll.planning.provisioning.shortages import Shortages
from plimsoll.planning.provisioning.standing_need import missing_nodes
from plimsoll.vocabulary import logs, metrics
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.problem import Problem

PAUSE_SECONDS: Final = 1.0
"""Between two looks at what to buy."""

_log = logs.logger(__name__)

_NO_PRICE: Final = (
    "nothing is bought, since purchasing.mostPerHour of the PlacementPolicy is a limit and no price"
    " is known: set pricePerGPUHour, or add the instance type to the price catalogue"
)

_Orders = frozenset[tuple[str, str, bool, bool]]
"""All orders, and how far they have come."""


@dataclass(frozen=True, slots=True)
class _Basis:
    """What decides what to buy, beside the plan."""

    orders: _Orders
    pools: frozenset[tuple[str, int, Decimal]]
    """The pools by uid, the versions of their specs, and their prices."""
    queues: frozenset[tuple[str, int]]
    """The queues, likewise."""
    blocked: frozenset[str]
    left: Decimal | None
    """How much more nodes may cost an hour; None: there is no limit."""
    may_buy: bool


@dataclass(frozen=True, slots=True)
class _Begun:
    """What is being worked out, or has been, for which plan and which jobs that it leaves out."""

    plan: Problem
    left_out: frozenset[tuple[str, int]]
    basis: _Basis
    task: "asyncio.Task[Purchases | None]"


class Procurement:
    """Takes a turn after each of the loop's; without `buys` it only says what it would buy."""

    def __init__(
        self, solver: Solver, clock: Clock, woken: Callable[[], None], *, buys: bool
    ) -> None:
        self._solver, self._clock, self._woken, self._buys = solver, clock, woken, buys
        self._builder = ProblemBuilder()
        self._began_at = 0.0
        self.forget()

    def forget(self) -> None:
        """Begin anew: another replica has acted, or is about to."""
        self.shortages = Shortages()
        self._giving_back = GivingBack(self._solver, self._clock, self._woken)
        self._begun: _Begun | None = None
        self._found, self._is_new = Purchases(), False
        self._unpriced = frozenset[str]()
        self._taken: set[str] = set()
        """Names of orders that others have used."""

    def turn(self, snapshot: Snapshot, current: CurrentPlan, writer: Writer) -> None:
        """Say what has become of orders; order, give back, and begin to look for what to buy."""
        if not any(pool.spec.provisioning for pool in snapshot.pools):
            self._found, self._is_new = Purchases(), False
            return
        self._tell(snapshot, writer)
        self._take_result(snapshot)
        if self._may_buy(snapshot):
            self._say_unpriced(snapshot, writer)
            used = self._used(snapshot, current)
            self._order(snapshot, current, used, writer)
            self._giving_back.turn(snapshot, current.settled, used, writer, self.shortages)
        self._begin(snapshot, current, writer)

    def _may_buy(self, snapshot: Snapshot) -> bool:
        return self._obstacle(snapshot) is None

    def explained(self, holds: Iterable[Hold], snapshot: Snapshot) -> Iterator[Hold]:
        """The holds, which also say what the jobs have to do with nodes that are not there yet."""
        return explained(holds, self._found, self._obstacle(snapshot))

    def _obstacle(self, snapshot: Snapshot) -> str | None:
        """What keeps nodes from being bought; None if nothing does."""
        if not self._buys:
            return "this operator may not buy nodes"
        if not snapshot.can_order:
            return "Karpenter is not installed"
        return obstacle(snapshot)

    def statuses(self, snapshot: Snapshot) -> Mapping[str, ProvisioningStatus]:
        """What the status of each pool says that may grow."""
        advised = (Purchases() if self._may_buy(snapshot) else self._found).nodes
        found = ((pool.metadata.name, self._status(pool, snapshot)) for pool in snapshot.pools)
        return {
            name: status.model_copy(update={"advised_nodes": advised.get(name, 0)})
            for name, status in found
            if status is not None
        }

    def name_taken(self, name: str) -> None:
        """Something else has the name of an order: what to buy is worked out anew."""
        self._taken.add(name)
        self.shortages.given_up(name)
        self._begun = None
        self._woken()

    def order_failed(self, pool: GPUPool, name: str) -> None:
        """A node could not be ordered under this name."""
        self.shortages.given_up(name)
        self.shortages.failed(pool.metadata.name, self._clock.now())

    def _tell(self, snapshot: Snapshot, writer: Writer) -> None:
        """Say what has become of orders."""
        news = self.shortages.see(snapshot, writer.node_claims.under_way)
        for pool in snapshot.pools:
            name = pool.metadata.name
            if name in news.arrived:
                metrics.NODES_ARRIVED.labels(name).inc(len(news.arrived[name]))
                text = f"NodeClaim {', '.join(news.arrived[name])}: its node takes pods"
                writer.node_claims.say(pool, Reason.NODE_ARRIVED, text)
            if name in news.failed:
                metrics.NODE_SHORTAGES.labels(name).inc(len(news.failed[name]))
                until = self.shortages.until(name)
                text = (
                    f"NodeClaim {', '.join(news.failed[name])} is gone before its node has come:"
                    f" other pools are tried, and this one again at {until:%H:%M:%S} UTC"
                )
                writer.node_claims.say(pool, Reason.NODE_NOT_TO_BE_HAD, text, warning=True)

    def _take_result(self, snapshot: Snapshot) -> None:
        begun = self._begun
        if begun is None or not begun.task.done() or begun.task.cancelled():
            return
        found = begun.task.result() if begun.task.exception() is None else None
        if found is not None and found is not self._found:
            self._found, self._is_new = found, begun.basis == self._basis(snapshot)

    def _order(
        self, snapshot: Snapshot, current: CurrentPlan, used: AbstractSet[str], writer: Writer
    ) -> None:
        """Order what was found to be bought, once, and what pools lack of `min` and `headroom`."""
        if writer.node_claims.under_way:
            return
        left = left_per_hour(snapshot)
        limits, ordered = Limits(snapshot), Counter[str]()
        taken = {*self._taken, *(order.name for order in snapshot.orders)}
        for pool, template in self._due(snapshot, current, used):
            name = pool.metadata.name
            if left is not None:
                left -= hourly_price(pool)
                if left < 0:
                    return
            ordered[name] += 1
            if broken := [*limits.broken(ordered)]:
                metrics.LOOP_ERRORS.inc()
                _log.error("nodes not ordered", pool=name, broken=broken)
                return
            order = next_name(pool, taken)
            taken.add(order)
            self.shortages.ordered(order, name)
            writer.node_claims.submit([Buy(pool, template, order)])

    def _due(
        self, snapshot: Snapshot, current: CurrentPlan, used: AbstractSet[str]
    ) -> Iterator[tuple[GPUPool, NodeClaimTemplate]]:
        """The pool of each node to order, those for jobs first: gangs get all of theirs or none."""
        wanted = Counter(self._found.nodes) if self._is_new else Counter[str]()
        self._is_new = False
        found = (*self._found.waiting.values(), *self._found.unpaid.values())
        awaited = [each for nodes in found for each in nodes]
        blocked = self._blocked(snapshot)
        pools = [pool for pool in snapshot.pools if pool.metadata.name not in blocked]
        missing = Counter[str]()
        for pool in pools:
            name, room = pool.metadata.name, room_for_more(pool, snapshot)
            wanted[name] = min(wanted[name], room)
            lacks = missing_nodes(pool, snapshot, used, awaited, current.before)
            missing[name] = min(lacks, room) - wanted[name]
        for numbers in (wanted, missing):
            for pool in pools:
                template = template_of(pool)
                if template is not None:
                    yield from [(pool, template)] * numbers[pool.metadata.name]

    def _status(self, pool: GPUPool, snapshot: Snapshot) -> ProvisioningStatus | None:
        idle_time = self._giving_back.idle_time(pool, snapshot)
        return self.shortages.status(pool, snapshot, idle_time)

    def _blocked(self, snapshot: Snapshot) -> frozenset[str]:
        """The pools of which nothing can be bought now."""
        return self.shortages.blocked(snapshot.now) | unpriced(snapshot)

    def _used(self, snapshot: Snapshot, current: CurrentPlan) -> frozenset[str]:
        """The names of the nodes that are in use, or for which something is planned."""
        before = current.before
        planned = (each for job in (before.jobs if before else ()) for each in job.running)
        wanted = {name for each in planned for name in each.nodes} | self._found.kept
        return in_use(snapshot, wanted)

    def _begin(self, snapshot: Snapshot, current: CurrentPlan, writer: Writer) -> None:
        """Work out what to buy, if that may have changed."""
        plan, now = current.settled, self._clock.monotonic()
        is_busy = self._begun is not None and not self._begun.task.done()
        if plan is None or is_busy or writer.node_claims.under_way:
            return
        basis, begun, out = self._basis(snapshot), self._begun, left_out(snapshot, plan)
        if begun and (begun.basis, begun.plan, begun.left_out) == (basis, plan, out):
            return
        early = self._began_at + PAUSE_SECONDS - now
        if early > 0:
            asyncio.get_running_loop().call_later(early, self._woken)
            return
        self._began_at = now
        future = future_nodes(snapshot, basis.blocked, to_buy=basis.may_buy)
        offer = offer_to(snapshot, plan, future, self._builder)
        task = asyncio.create_task(worked_out(self._solver, offer, basis.left))
        task.add_done_callback(lambda _: self._woken())
        self._begun = _Begun(plan, out, basis, task)

    def _say_unpriced(self, snapshot: Snapshot, writer: Writer) -> None:
        """Say of each pool once that its price is not known."""
        before, self._unpriced = self._unpriced, unpriced(snapshot)
        for pool in snapshot.pools:
            if pool.metadata.name in self._unpriced - before:
                writer.node_claims.say(pool, Reason.ORDER_REFUSED, _NO_PRICE, warning=True)

    def _basis(self, snapshot: Snapshot) -> _Basis:
        return _Basis(
            frozenset((o.name, o.node, o.arrived, o.leaving) for o in snapshot.orders),
            frozenset(
                (p.metadata.uid, p.metadata.generation, p.spec.price_per_gpu_hour)
                for p in snapshot.pools
            ),
            frozenset((q.metadata.uid, q.metadata.generation) for q in snapshot.queues),
            self._blocked(snapshot),
            left_per_hour(snapshot),
            self._may_buy(snapshot),
        )


async def worked_out(solver: Solver, offer: Offer | None, left: Decimal | None) -> Purchases | None:
    """What to buy for no more than what is left an hour; None if that could not be worked out."""
    search, found = purchase_search(offer, left), None
    while True:
        try:
            problem = search.send(found)
        except StopIteration as end:
            return end.value
        solution = await solver.estimate(problem)
        found = None if solution is None else solution.placements
