"""What queues spend on nodes that were bought, of what they may spend."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.provisioning.future_nodes import hourly_price
from plimsoll_placement.model import WHOLE_GPU_MILLI

NEARLY_ALL: Final = Decimal("0.9")
"""The part of a budget from which on it counts as used: a node more may already be too much."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What a queue and its children spend an hour on bought nodes, and may spend at most."""

    per_hour: Decimal
    most_per_hour: Decimal

    @property
    def is_used(self) -> bool:
        """Whether next to nothing is left."""
        return self.per_hour > 0 and self.per_hour >= self.most_per_hour * NEARLY_ALL


def spending(snapshot: Snapshot) -> Mapping[str, Spending]:
    """What each queue with a budget spends on the bought nodes that its jobs hold."""
    budgets = {
        queue.metadata.name: most
        for queue in snapshot.queues
        if (most := queue.spec.purchasing.most_per_hour) is not None
    }
    if not budgets:
        return {}
    parents = {queue.metadata.name: queue.spec.parent for queue in snapshot.queues}
    spent = dict.fromkeys(budgets, Decimal(0))
    prices = _gpu_prices(snapshot)
    for job in snapshot.jobs:
        price = _price_held(job, prices)
        for queue in _upwards(job.resource.spec.queue, parents):
            if queue in spent:
                spent[queue] += price
    return {name: Spending(spent[name], most) for name, most in budgets.items()}


def _gpu_prices(snapshot: Snapshot) -> Mapping[str, Decimal]:
    """What a GPU costs an hour on each node that was bought."""
    pools = {pool.metadata.name: pool for pool in snapshot.pools}
    return {
        order.node: hourly_price(pool) / pool.spec.gpus_per_node
        for order in snapshot.orders
        if order.node and (pool := pools.get(order.pool)) and pool.spec.gpus_per_node
    }


def _price_held(job: JobView, prices: Mapping[str, Decimal]) -> Decimal:
    placement = job.resource.status.placement
    if placement is None or job.is_over or not prices:
        return Decimal(0)
    milli = job.resource.spec.milli_gpus_by_role
    held = (
        prices[node] * milli.get(place.role, 0) / WHOLE_GPU_MILLI
        for place in placement.assignments
        for node in place.nodes
        if node in prices
    )
    return _total(held)


def _total(amounts: Iterable[Decimal]) -> Decimal:
    return sum(amounts, Decimal(0))


def _upwards(queue: str, parents: Mapping[str, str | None]) -> Iterator[str]:
    """A queue and those above it, each once even if they form a circle."""
    seen: set[str] = set()
    each: str | None = queue
    while each is not None and each not in seen:
        seen.add(each)
        yield each
        each = parents.get(each)
