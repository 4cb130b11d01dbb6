"""Which nodes the operator would buy for the jobs that a plan leaves waiting."""

from collections import Counter
from collections.abc import Iterator

from plimsoll.cli.output.report import Purchase, PurchaseLine
from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.plan.decisions import PlanResult
from plimsoll.planning.plan.validation import settled
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.buying.purchase_search import outcome, purchase_search
from plimsoll.planning.provisioning.buying.purchases import (
    Purchases,
    cost,
    left_per_hour,
    offer_to,
    unpriced,
)
from plimsoll.planning.provisioning.buying.sentences import (
    coming_text,
    obstacle,
    start_time,
    to_buy_text,
)
from plimsoll.planning.provisioning.future_nodes import FutureNode, future_nodes, hourly_price
from plimsoll.planning.provisioning.overlaps import overlapped
from plimsoll.planning.provisioning.shortages import known_blocked
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve_lean

_IF_IT_MAY = "they are bought if the operator may buy nodes (provisioning.enabled of its chart)"
_AT_ONCE = Effort(deterministic_seconds=0)


def purchases_after(snapshot: Snapshot, result: PlanResult) -> Purchases:
    """What an operator that may buy nodes would buy once it has carried out the plan."""
    blocked = known_blocked(snapshot) | unpriced(snapshot) | frozenset(overlapped(snapshot))
    future = future_nodes(snapshot, blocked, to_buy=obstacle(snapshot) is None)
    offer = offer_to(snapshot, settled(result), future, ProblemBuilder())
    search = purchase_search(offer, left_per_hour(snapshot))
    return outcome(search, lambda problem: solve_lean(problem, _AT_ONCE).placements)


def purchase_for(job: JobName, found: Purchases, snapshot: Snapshot) -> Purchase | None:
    """The nodes that are not there yet on which a job would start; None if there are none."""
    unpaid, waiting = found.unpaid.get(job), found.waiting.get(job)
    if unpaid is not None:
        return _purchase(unpaid, to_buy_text(unpaid, found.why_unpaid[job]), within_budget=False)
    if waiting is None:
        return None
    if all(each.order for each in waiting):
        return _purchase(waiting, coming_text(waiting))
    return _purchase(waiting, to_buy_text(waiting, obstacle(snapshot) or _IF_IT_MAY))


def _purchase(
    nodes: tuple[FutureNode, ...], message: str, *, within_budget: bool = True
) -> Purchase:
    to_buy = [each for each in nodes if each.order is None]
    return Purchase(
        nodes=Counter(each.pool.metadata.name for each in to_buy),
        ordered=Counter(each.pool.metadata.name for each in nodes if each.order),
        dollars_per_hour=round(float(cost(to_buy)), 4),
        start_seconds=int(start_time(nodes).total_seconds()),
        within_budget=within_budget,
        message=message,
    )


def purchase_lines(found: Purchases, snapshot: Snapshot) -> Iterator[PurchaseLine]:
    """What would be bought for all jobs together, by pool."""
    for pool in snapshot.pools:
        number = found.nodes.get(pool.metadata.name, 0)
        if number:
            price = round(float(number * hourly_price(pool)), 4)
            yield PurchaseLine(pool.metadata.name, pool.spec.capacity_type, number, price)
