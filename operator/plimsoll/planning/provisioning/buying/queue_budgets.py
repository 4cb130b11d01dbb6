"""What queues may still spend on nodes.

A queue pays for what its jobs, and its children's, hold of nodes that were bought, and for the
nodes that are bought for them. A budget keeps nodes from being bought; it stops nobody from using
what others have bought.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.provisioning.future_nodes import FutureNode, hourly_price
from plimsoll_placement.model import WHOLE_GPU_MILLI, Job, NodeName


@dataclass(frozen=True, slots=True)
class QueueBudgets:
    """What each queue that has a budget may still spend an hour, and the queues above each."""

    left: Mapping[str, Decimal] = field(default_factory=dict[str, Decimal])
    parents: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])

    def limit(self, queue: str, nodes: Iterable[FutureNode], price: Decimal) -> str | None:
        """What keeps a job of a queue from paying so much for these nodes; None if nothing does."""
        prices = {each.pool.metadata.name: hourly_price(each.pool) for each in nodes}
        for each in self._charged(queue):
            limit = f"purchasing.mostPerHour of JobQueue {each}"
            unknown = next((pool for pool, of in prices.items() if not of), None)
            if unknown is not None:
                return f"{limit} is a limit, and GPUPool {unknown} says no pricePerGPUHour"
            if self.left[each] < price:
                return f"{limit} leaves {max(self.left[each], Decimal(0)):.2f}"
        return None

    def most(self, queue: str) -> Decimal | None:
        """The most that a job of a queue may cost; None: there is no limit."""
        return min((self.left[each] for each in self._charged(queue)), default=None)

    def after(self, queue: str, price: Decimal) -> "QueueBudgets":
        """What is left once a job of a queue has cost so much."""
        spent = {each: self.left[each] - price for each in self._charged(queue)}
        return QueueBudgets({**self.left, **spent}, self.parents)

    def _charged(self, queue: str) -> Iterator[str]:
        """The queues with a budget from which a job of this one is paid, itself first."""
        seen: set[str] = set()
        each: str | None = queue
        while each is not None and each not in seen:
            seen.add(each)
            if each in self.left:
                yield each
            each = self.parents.get(each)


def queue_budgets(snapshot: Snapshot, jobs: Iterable[Job]) -> QueueBudgets:
    """What queues may still spend beside what these jobs hold."""
    most = {
        queue.metadata.name: limit
        for queue in snapshot.queues
        if (limit := queue.spec.purchasing.most_per_hour) is not None
    }
    found = QueueBudgets(most, {q.metadata.name: q.spec.parent for q in snapshot.queues})
    if not most:
        return found
    pools = {pool.metadata.name: pool for pool in snapshot.pools}
    prices = {
        NodeName(order.node): hourly_price(pool) / (pool.spec.gpus_per_node or 1)
        for order in snapshot.orders
        if (pool := pools[order.pool]) and order.node
    }
    for job in jobs:
        if job.knows_its_roles and (price := _held(job, prices)):
            found = found.after(job.queue, price)
    return found


def _held(job: Job, prices: Mapping[NodeName, Decimal]) -> Decimal:
    """What a job's GPUs on these nodes cost, by the price of a GPU on each."""
    return sum(
        (
            prices[node] * job.role(each.role).shape.gpu_milli / WHOLE_GPU_MILLI
            for each in job.running
            for node in each.nodes
            if node in prices
        ),
        Decimal(0),
    )
