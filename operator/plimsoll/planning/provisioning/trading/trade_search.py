"""Search for a bought node that can go, or for nodes to buy for jobs that run.

Each problem that the search yields is solved by its caller, which sends back the placements, or
None where it could not be solved.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.buying.purchases import Purchases, left_per_hour, offer_to_all
from plimsoll.planning.provisioning.future_nodes import FutureNode
from plimsoll.planning.provisioning.trading.emptying import (
    Candidate,
    as_it_is,
    candidates,
    coming_prices,
    idle_prices,
)
from plimsoll.planning.provisioning.trading.trades import Trade, ending_soon, growth
from plimsoll_placement.model import NodeName, Placements
from plimsoll_placement.problem import Problem

MOST_EMPTIED: Final = 4
"""How many nodes a search looks at, to empty them."""
MOST_REPLACED: Final = 2
"""How many nodes a search looks at, to replace them."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """What a search is about: the nodes that are there, and those that could be had.

    `is_quiet`: nobody has waited for some time, so that there may be fewer nodes; otherwise only
    one goes for which others have come.
    """

    snapshot: Snapshot
    settled: Problem
    future: Sequence[FutureNode]
    is_quiet: bool = True

    @property
    def idle_prices(self) -> Mapping[NodeName, float]:
        """What the nodes cost an hour on which no job has a place, though its pods may still end.

        They are about to be given back: a place there costs all of that.
        """
        jobs = self.settled.jobs
        held = {name for job in jobs for each in job.running for name in each.nodes}
        arrived = {order.node for order in self.snapshot.orders if order.arrived}
        return idle_prices(self.snapshot, arrived - held)


@dataclass(frozen=True, slots=True)
class Found:
    """A node that can be emptied, and what to buy for jobs that run, or to wait for.

    `replaced`: the node that can go once that has come; None if gangs grow by it. `tried`: the
    nodes that are not to be replaced, until all have been tried.
    """

    emptied: str | None = None
    bought: Purchases = field(default_factory=Purchases)
    replaced: str | None = None
    tried: frozenset[str] = frozenset()

    @property
    def why(self) -> str:
        """What nodes are bought for, for people."""
        if self.replaced is None:
            return "elastic jobs gain more by it than it costs"
        return f"the jobs of {self.replaced} gain by it, which then goes"


@dataclass(frozen=True, slots=True)
class _Made:
    """A trade that pays: what is gained, in milli-GPU-seconds, and what it buys or waits for."""

    gained: int
    bought: Purchases


TradeSearch = Generator[Problem, Placements | None, Found]
_Attempt = Generator[Problem, Placements | None, _Made | None]


def trade_search(fleet: Fleet, before: Found, builder: ProblemBuilder) -> TradeSearch:
    """What pays best now. What was found `before` stands while it is on its way and pays."""
    nodes, there = candidates(fleet.snapshot, fleet.settled), as_it_is(fleet.settled)
    idle = fleet.idle_prices
    spare = nodes if fleet.is_quiet else [each for each in nodes if each.node == before.replaced]
    for each in spare[:MOST_EMPTIED]:
        if (yield from _made(fleet, each.trade(there, idle))) is not None:
            return replace(before, emptied=each.node)
    best, gained, tried = Found(), 0, before.tried
    # Aged nodes go without others in their place.
    dear = sorted((each for each in nodes if not each.is_aged), key=lambda each: -each.price)
    for trade in _trades(fleet, dear, idle, before, builder) if fleet.future else ():
        made = yield from _made(fleet, trade)
        if made is not None and made.bought.waiting and made.gained > gained:
            gained, best = made.gained, Found(None, made.bought, trade.node)
        elif trade.node is not None:
            tried |= {trade.node}
    untried = {each.node for each in dear} - tried
    return replace(best, tried=tried if untried else frozenset())


def awaits_nodes(snapshot: Snapshot) -> bool:
    """Whether nodes are on their way."""
    return any(not order.arrived and not order.leaving for order in snapshot.orders)


def _trades(
    fleet: Fleet,
    dear: Sequence[Candidate],
    idle: Mapping[NodeName, float],
    before: Found,
    builder: ProblemBuilder,
) -> Iterator[Trade]:
    """What could be bought for jobs that run: instead of nodes, and for gangs to grow on."""
    offer = offer_to_all(fleet.snapshot, fleet.settled, fleet.future, builder)
    stands = bool(before.bought.waiting) and awaits_nodes(fleet.snapshot)
    if stands:
        chosen = [each for each in dear if each.node == before.replaced]
    else:
        chosen = [each for each in dear if each.node not in before.tried][:MOST_REPLACED]
    for each in chosen:
        yield each.trade(offer, idle)
    if not stands or before.replaced is None:
        charged = {**idle, **coming_prices(offer)}
        yield growth(offer, charged, ending_soon(fleet.snapshot))


def _made(fleet: Fleet, trade: Trade) -> _Attempt:
    """The trade with as few nodes as it can be; None if it does not pay, or cannot be paid."""
    placements = yield trade.offer.problem
    if placements is None:
        return None
    fewer = trade.with_fewer(placements)
    if fewer is not None:
        others = yield fewer.offer.problem
        if others is not None and fewer.net(others, fleet.settled.loss_allowance) is not None:
            trade, placements = fewer, others
    gained = trade.net(placements, fleet.settled.loss_allowance)
    bought = trade.purchases(placements, left_per_hour(fleet.snapshot))
    return None if gained is None or bought is None else _Made(gained, bought)
