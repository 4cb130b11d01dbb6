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

from plimsoll.acting.nodes.node_claims import free_names
from plimsoll.acting.writes.orders import Ask, Buy
from plimsoll.acting.writes.writer import Writer
from plimsoll.api.gpu_pool import GPUPool, ProvisioningStatus
from plimsoll.clock import Clock
from plimsoll.control.current_plan import CurrentPlan
from plimsoll.control.loop_terms import LoopTerms
from plimsoll.control.provisioning.consolidation import Demand
from plimsoll.control.provisioning.giving_back import GivingBack
from plimsoll.control.solving.solver import Solver, outcome
from plimsoll.observe.nodes.notices import closing_taint
from plimsoll.observe.nodes.orders import Order, Way
from plimsoll.observe.nodes.pool_templates import request_of, template_of, way_of
from plimsoll.observe.snapshot import JobName, NodeView, Snapshot
from plimsoll.planning.actions import Hold
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.buying.awaited import arriving, unawaited
from plimsoll.planning.provisioning.buying.limits import Limits
from plimsoll.planning.provisioning.buying.offers import Offer
from plimsoll.planning.provisioning.buying.purchase_search import purchase_search
from plimsoll.planning.provisioning.buying.purchases import (
    Purchases,
    left_out,
    left_per_hour,
    offer_to,
    unpriced,
    waits_for_nodes,
)
from plimsoll.planning.provisioning.buying.sentences import explained, obstacle
from plimsoll.planning.provisioning.buying.standing_need import missing_nodes
from plimsoll.planning.provisioning.buying.unpromised import with_unpromised
from plimsoll.planning.provisioning.buying.withdrawals import why_unmet, withdrawals
from plimsoll.planning.provisioning.future_nodes import (
    MOST_OFFERED,
    future_nodes,
    hourly_price,
    is_sold,
    room_for_more,
    unsold,
)
from plimsoll.planning.provisioning.idle_nodes import in_use, to_reopen
from plimsoll.planning.provisioning.overlaps import overlapped
from plimsoll.planning.provisioning.shortages import Shortages
from plimsoll.supervision import count_failure, result_of
from plimsoll.vocabulary import logs, metrics
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.problem import Problem

PAUSE_SECONDS: Final = 1.0
"""Between two looks at what to buy."""
UNTOLD_SECONDS: Final = 10.0
"""How long a job is told nothing while it is not known what to buy for it."""
FITS_NOWHERE: Final = frozenset({Reason.CANNOT_FIT, Reason.NO_ELIGIBLE_NODE})

_log = logs.logger(__name__)

_NO_PRICE: Final = (
    "nothing is bought, since purchasing.mostPerHour of the PlacementPolicy is a limit and no price"
    " is known: set pricePerGPUHour, or add the instance type to the price catalogue"
)

_KEPT_READY: Final = "its GPUPool keeps as many ready"

_MISSING: Final = {
    Way.NODE_CLAIM: "Karpenter is not installed",
    Way.PROVISIONING_REQUEST: "cluster-autoscaler's ProvisioningRequests are not installed",
}

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
    closed: frozenset[str]
    """The nodes that are there and are to be given back."""
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

    @property
    def result(self) -> Purchases | None:
        """What was found; None if that is not known yet, or could not be worked out."""
        return result_of(self.task)


class Procurement:
    """Takes a turn after each of the loop's; it only says what it would buy if it may not."""

    def __init__(
        self, solver: Solver, clock: Clock, woken: Callable[[], None], *, terms: LoopTerms
    ) -> None:
        self._solver, self._clock, self._woken = solver, clock, woken
        self._ways, self._requests_in = terms.ways, terms.requests_in
        self._builder = ProblemBuilder()
        self._began_at = 0.0
        self.forget()

    def forget(self) -> None:
        """Begin anew: another replica has acted, or is about to."""
        self.shortages = Shortages()
        self._giving_back = GivingBack(self._solver, self._clock, self._woken, self.shortages)
        self._begun: _Begun | None = None
        self._found, self._is_new = Purchases(), False
        self._has_looked = False
        """Before, nobody knows which idle nodes are kept for gangs."""
        self._looked_at = frozenset[tuple[str, int]]()
        """The jobs that fit on no node for which it is known what to buy, if anything.

        By uid, with the versions of their specs.
        """
        self._unknown_since: dict[tuple[str, int], float] = {}
        """Since when the others have been waiting for that."""
        self._unsalable: Mapping[str, str] = {}
        """Why nothing can be bought of a pool whatever is in store, as was said last."""
        self._reopened = frozenset[str]()
        """The nodes that the last turn had reopened."""
        self._taken: set[str] = set()
        """Names of orders that others have used."""

    def turn(self, snapshot: Snapshot, current: CurrentPlan, writer: Writer) -> None:
        """Say what has become of orders; order, give back, and begin to look for what to buy."""
        if not any(pool.spec.provisioning for pool in snapshot.pools):
            self._found, self._is_new = Purchases(), False
            if self._ways and not snapshot.advises:
                self._let_go(snapshot, writer)
            return
        self._tell(snapshot, writer)
        self._take_result(snapshot)
        if self._may_buy(snapshot):
            self._say_unsalable(snapshot, writer)
            used = self._used(snapshot, current)
            if self._has_looked:
                self._give_back(snapshot, current, used, writer)
            self._order(snapshot, current, used, writer)
            self._let_go(snapshot, writer)
            self._take_back(snapshot, current, used, writer)
        self._begin(snapshot, current, writer)

    def _let_go(self, snapshot: Snapshot, writer: Writer) -> None:
        """Withdraw requests that nothing more comes of; open what is given back no more."""
        writer.orders.submit(withdrawals(snapshot))
        reopened = [*to_reopen(snapshot)]
        if reopened and not writer.nodes.is_busy:
            writer.nodes.submit(reopened)

    def _may_buy(self, snapshot: Snapshot) -> bool:
        return self._obstacle(snapshot) is None

    def arriving(self, snapshot: Snapshot) -> Mapping[JobName, frozenset[str]]:
        """Of the jobs that wait for nodes on their way, those of their nodes that are there."""
        return arriving(self._found, snapshot) if self._ways else {}

    def explained(self, holds: Iterable[Hold], snapshot: Snapshot) -> Iterator[Hold]:
        """The holds, which also say what the jobs have to do with nodes that are not there yet."""
        told = explained(holds, self._found, self._obstacle(snapshot))
        return with_unpromised(told, snapshot, self._found.served)

    def to_tell(self, holds: Iterable[Hold], snapshot: Snapshot) -> list[Hold]:
        """The explained holds that can be told by now.

        That a job fits on no node is told once it is known whether nodes are bought for it, or has
        not become known for a while.
        """
        now, before = self._clock.monotonic(), self._unknown_since
        self._unknown_since = {}
        told: list[Hold] = []
        may_buy = self._may_buy(snapshot)
        for hold in self.explained(holds, snapshot):
            view = snapshot.job_by_name[hold.job]
            version = view.uid, view.resource.metadata.generation
            if may_buy and hold.reason in FITS_NOWHERE and version not in self._looked_at:
                since = self._unknown_since[version] = before.get(version, now)
                if now < since + UNTOLD_SECONDS:
                    continue
            told.append(hold)
        return told

    def _obstacle(self, snapshot: Snapshot) -> str | None:
        """What keeps nodes from being bought; None if nothing does."""
        if not self._ways:
            return "this operator may not buy nodes"
        ways = [way for pool in snapshot.pools if (way := way_of(pool)) is not None]
        if ways and not any(is_sold(pool, snapshot) for pool in snapshot.pools):
            way = next((each for each in ways if each in self._ways), None)
            may_not = f"this operator may not order nodes by {ways[0]}s"
            return may_not if way is None else _MISSING[way]
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
        news = self.shortages.see(snapshot, writer.orders.under_way)
        for pool in snapshot.pools:
            name = pool.metadata.name
            way = way_of(pool) or Way.NODE_CLAIM
            if name in news.arrived:
                metrics.NODES_ARRIVED.labels(name).inc(_arrived(news.arrived[name], snapshot))
                took = "its node takes pods" if way is Way.NODE_CLAIM else "its nodes take pods"
                text = f"{way} {', '.join(news.arrived[name])}: {took}"
                writer.orders.say(pool, Reason.NODE_ARRIVED, text)
            if name in news.failed:
                metrics.NODE_SHORTAGES.labels(name).inc(_lost(news.failed[name], snapshot))
                until, what = self.shortages.until(name), _why_failed(news.failed[name], snapshot)
                text = (
                    f"{way} {', '.join(news.failed[name])} {what}:"
                    f" other pools are tried, and this one again at {until:%H:%M:%S} UTC"
                )
                writer.orders.say(pool, Reason.NODE_NOT_TO_BE_HAD, text, warning=True)

    def _take_result(self, snapshot: Snapshot) -> None:
        begun = self._begun
        if begun is not None and begun.task.done():
            self._has_looked, self._looked_at = True, begun.left_out
        found = None if begun is None else begun.result
        if begun is not None and found is not None and found is not self._found:
            self._found, self._is_new = found, begun.basis == self._basis(snapshot)

    def _order(
        self, snapshot: Snapshot, current: CurrentPlan, used: AbstractSet[str], writer: Writer
    ) -> None:
        """Order what was found to be bought, once, and what pools lack of `min` and `headroom`."""
        if writer.orders.under_way:
            return
        left = left_per_hour(snapshot)
        limits, ordered = Limits(snapshot), Counter[str]()
        taken = {*self._taken, *(each.name for each in (*snapshot.orders, *snapshot.requests))}
        names: dict[str, Iterator[str]] = {}
        for pool, count, why in self._due(snapshot, current, used):
            name = pool.metadata.name
            if left is not None:
                left -= count * hourly_price(pool)
                if left < 0:
                    return
            ordered[name] += count
            if broken := [*limits.broken(ordered)]:
                metrics.LOOP_ERRORS.inc()
                _log.error("nodes not ordered", pool=name, broken=broken)
                return
            order = next(names.setdefault(name, free_names(pool, taken)))
            taken.add(order)
            self.shortages.ordered(order, name)
            writer.orders.submit(self._ordering(pool, order, count, snapshot, why))

    def _give_back(
        self, snapshot: Snapshot, current: CurrentPlan, used: AbstractSet[str], writer: Writer
    ) -> None:
        """Give back what is not needed; what to buy is worked out anew if nodes are reopened."""
        demand = self._demand(snapshot, current, used)
        before, self._reopened = self._reopened, self._giving_back.turn(snapshot, demand, writer)
        if self._reopened - before:
            self._begun, self._is_new = None, False

    def _take_back(
        self, snapshot: Snapshot, current: CurrentPlan, used: AbstractSet[str], writer: Writer
    ) -> None:
        """Take back what is on its way for nobody, once it is known for whom the others are."""
        begun, plan = self._begun, current.settled
        if begun is None or plan is None or begun.result is None or writer.orders.under_way:
            return
        now = plan, left_out(snapshot, plan), self._basis(snapshot)
        if (begun.plan, begun.left_out, begun.basis) != now:
            return
        spared = self._giving_back.consolidation.spared(snapshot)
        for change in unawaited(self._found, snapshot, used, current.before, spared):
            self.shortages.given_up(change.order.name)
            writer.orders.submit([change])

    def _ordering(
        self, pool: GPUPool, name: str, count: int, snapshot: Snapshot, why: str
    ) -> Iterator[Buy | Ask]:
        """The order of so many nodes of a pool under a name."""
        template, request = template_of(pool), request_of(pool)
        if template is not None:
            yield Buy(pool, template, name, why)
        if request is not None:
            yield Ask(pool, request, name, count, self._requests_in, snapshot.nodes, why)

    def _due(
        self, snapshot: Snapshot, current: CurrentPlan, used: AbstractSet[str]
    ) -> Iterator[tuple[GPUPool, int, str]]:
        """The pools of the nodes to order, how many at a time and why, those for jobs first.

        Gangs get all of theirs or none.
        """
        new, why = self._found if self._is_new else Purchases(), ""
        if not new.nodes:
            new, why = self._giving_back.consolidation.due(snapshot)
        wanted = Counter(new.nodes)
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
            missing[name] = min(lacks, room, MOST_OFFERED) - wanted[name]
        sold = [pool for pool in pools if is_sold(pool, snapshot)]
        for pool in sold:
            most = wanted[pool.metadata.name]
            yield from ((pool, count, why) for count in _lots(pool, new, most))
        for pool in sold:
            yield from [(pool, 1, _KEPT_READY)] * missing[pool.metadata.name]

    def _status(self, pool: GPUPool, snapshot: Snapshot) -> ProvisioningStatus | None:
        idle_time = self._giving_back.idle_time(pool, snapshot)
        return self.shortages.status(pool, snapshot, idle_time)

    def _blocked(self, snapshot: Snapshot) -> frozenset[str]:
        """The pools of which nothing can be bought now."""
        elsewhere = unsold(snapshot) if self._may_buy(snapshot) else frozenset[str]()
        never = unpriced(snapshot) | frozenset(overlapped(snapshot))
        return self.shortages.blocked(snapshot.now) | never | elsewhere

    def _used(self, snapshot: Snapshot, current: CurrentPlan) -> frozenset[str]:
        """The names of the nodes that are in use, or for which something is planned."""
        before = current.before
        planned = (each for job in (before.jobs if before else ()) for each in job.running)
        kept = (name for each in self._found.kept.values() for name in each)
        wanted = {*(name for each in planned for name in each.nodes), *kept}
        return in_use(snapshot, wanted)

    def _demand(self, snapshot: Snapshot, current: CurrentPlan, used: AbstractSet[str]) -> Demand:
        plan, settled = current.plan, current.settled
        holds = () if plan is None else plan.holds
        waits = settled is not None and waits_for_nodes(snapshot, settled, holds, self._found)
        # Who runs need not ask every few minutes for what was short a moment ago.
        short = self.shortages.short_lately(snapshot.now)
        return Demand(settled, used, waits, self._blocked(snapshot) | short)

    def _begin(self, snapshot: Snapshot, current: CurrentPlan, writer: Writer) -> None:
        """Work out what to buy, if that may have changed."""
        plan, now = current.settled, self._clock.monotonic()
        is_busy = self._begun is not None and not self._begun.task.done()
        if plan is None or is_busy or writer.orders.under_way:
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
        task.add_done_callback(self._done)
        self._begun = _Begun(plan, out, basis, task)

    def _say_unsalable(self, snapshot: Snapshot, writer: Writer) -> None:
        """Say of each pool once that its price is not known, or its nodes would be another's."""
        before, now = self._unsalable, dict.fromkeys(unpriced(snapshot), _NO_PRICE)
        self._unsalable = {**now, **overlapped(snapshot)}
        for pool in snapshot.pools:
            why = self._unsalable.get(pool.metadata.name)
            if why is not None and why != before.get(pool.metadata.name):
                writer.orders.say(pool, Reason.ORDER_REFUSED, why, warning=True)

    def _done(self, task: "asyncio.Task[Purchases | None]") -> None:
        """It is worked out; an error costs this result, and is counted."""
        count_failure("purchases", task)
        self._woken()

    def _basis(self, snapshot: Snapshot) -> _Basis:
        return _Basis(
            frozenset((o.name, o.node, o.arrived, o.leaving) for o in snapshot.orders),
            frozenset(
                (p.metadata.uid, p.metadata.generation, p.spec.price_per_gpu_hour)
                for p in snapshot.pools
            ),
            frozenset((q.metadata.uid, q.metadata.generation) for q in snapshot.queues),
            snapshot.memo.of(_closed, snapshot.orders, snapshot.node_by_name),
            self._blocked(snapshot),
            left_per_hour(snapshot),
            self._may_buy(snapshot),
        )


def _closed(orders: Iterable[Order], nodes: Mapping[str, NodeView]) -> frozenset[str]:
    """The ordered nodes that are closed to be given back."""
    there = (nodes.get(order.node) for order in orders)
    return frozenset(n.name for n in there if n is not None and closing_taint(n.node) is not None)


def _lots(pool: GPUPool, found: Purchases, most: int) -> Iterator[int]:
    """How many of at `most` so many nodes to order at a time: a gang's together if that can be."""
    if way_of(pool) is not Way.PROVISIONING_REQUEST:
        yield from [1] * most
        return
    for count in found.lots(pool.metadata.name):
        if count <= most:
            most -= count
            yield count


def _arrived(names: Iterable[str], snapshot: Snapshot) -> int:
    """How many nodes have come by orders that are met."""
    requested = {each.name: each.count for each in snapshot.requests}
    return sum(requested.get(name, 1) for name in names)


def _lost(names: Iterable[str], snapshot: Snapshot) -> int:
    """How many nodes do not come of orders that could not be met."""
    lacking = {each.name: each.count - len(each.nodes) for each in snapshot.requests}
    return sum(lacking.get(name, 1) for name in names)


def _why_failed(names: Iterable[str], snapshot: Snapshot) -> str:
    """What has become of orders that could not be met."""
    unmet = {each.name: why_unmet(each) for each in snapshot.requests}
    told = [unmet[name] for name in names if name in unmet]
    return f"is not met ({told[0]})" if told else "is gone before its node has come"


async def worked_out(solver: Solver, offer: Offer | None, left: Decimal | None) -> Purchases | None:
    """What to buy for no more than what is left an hour; None if that could not be worked out."""
    return await outcome(solver, purchase_search(offer, left))
