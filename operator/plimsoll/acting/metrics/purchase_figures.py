"""What nodes are bought, what they cost, and how long they are idle, as metrics."""

import math
from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from plimsoll.api.gpu_pool import ProvisioningStatus
from plimsoll.observe.nodes.orders import Order
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.provisioning.idle_nodes import idle_nodes, in_use
from plimsoll.vocabulary import metrics

_FIGURES = (
    metrics.NODE_FAILURES,
    metrics.NODES_ADVISED,
    metrics.NODES_BOUGHT,
    metrics.SPENT_PER_HOUR,
)


class PurchaseFigures:
    """Reports the figures of all pools that may grow; remembers when it last did."""

    def __init__(self) -> None:
        self._reported_at: datetime | None = None

    def report(self, snapshot: Snapshot, statuses: Mapping[str, ProvisioningStatus]) -> None:
        """Report the present figures, and how long nodes have been idle since the last report."""
        _clear()
        policy = snapshot.policy
        budget = None if policy is None else policy.spec.purchasing.most_per_hour
        metrics.PURCHASE_BUDGET.set(math.inf if budget is None else float(budget))
        for pool in snapshot.pools:
            status = statuses.get(pool.metadata.name)
            if status is not None:
                _report(pool.metadata.name, pool.spec.capacity_type, status)
        bought = Counter((each.pool, _state(each)) for each in snapshot.orders)
        for labels, number in bought.items():
            metrics.NODES_BOUGHT.labels(*labels).set(number)
        self._count_idle(snapshot)

    def forget(self) -> None:
        """Stop reporting: another replica does."""
        self._reported_at = None
        metrics.PURCHASE_BUDGET.set(0)
        _clear()

    def _count_idle(self, snapshot: Snapshot) -> None:
        before, self._reported_at = self._reported_at, snapshot.now
        if before is None or before >= snapshot.now:
            return
        seconds = (snapshot.now - before).total_seconds()
        for pool, number in idle_nodes(snapshot, in_use(snapshot, frozenset())).items():
            metrics.IDLE_NODE_SECONDS.labels(pool).inc(number * seconds)


def _report(pool: str, capacity_type: str, status: ProvisioningStatus) -> None:
    metrics.NODE_FAILURES.labels(pool).set(status.failures)
    metrics.NODES_ADVISED.labels(pool).set(status.advised_nodes)
    metrics.SPENT_PER_HOUR.labels(pool, capacity_type).set(float(status.dollars_per_hour))


def _state(order: Order) -> str:
    return "Arrived" if order.arrived else "Coming"


def _clear() -> None:
    for figure in _FIGURES:
        figure.clear()
