"""Check what is about to be ordered against the pools' `max` and the budget, by its own count.

It shares no code with what chooses the orders: whatever that gets wrong, no more is bought than the
limits allow.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal

from plimsoll.observe.snapshot import Snapshot


class Limits:
    """What there is now of each pool, and what that costs an hour."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._pools = {pool.metadata.name: pool for pool in snapshot.pools}
        there = {
            name: {node.name for node in nodes} for name, nodes in snapshot.nodes_by_pool.items()
        }
        for order in snapshot.orders:
            there[order.pool].add(order.node or f"({order.name} {order.number})")
        self._there = {name: len(nodes) for name, nodes in there.items()}
        self._paid = Counter(each.pool for each in snapshot.orders)
        policy = snapshot.policy
        self._budget = None if policy is None else policy.spec.purchasing.most_per_hour

    def broken(self, ordered: Mapping[str, int]) -> Iterator[str]:
        """Which limits so many more nodes of each pool would break."""
        for name, number in ordered.items():
            terms = self._pools[name].spec.provisioning
            most = 0 if terms is None else terms.max
            if self._there[name] + number > most:
                text = f"{number} more of its nodes than the {self._there[name]} there and coming"
                yield f"GPUPool {name}: {text} exceed max, {most}"
            if number and self._budget is not None and not self._price({name: 1}):
                yield f"GPUPool {name}: no price is known, but mostPerHour is {self._budget}"
        price = self._price(self._paid) + self._price(ordered)
        if self._budget is not None and any(ordered.values()) and price > self._budget:
            yield f"all bought nodes would cost {price} an hour: mostPerHour is {self._budget}"

    def _price(self, nodes: Mapping[str, int]) -> Decimal:
        specs = ((self._pools[name].spec, number) for name, number in nodes.items())
        return sum(
            (
                spec.price_per_gpu_hour * (spec.gpus_per_node or 0) * number
                for spec, number in specs
            ),
            Decimal(0),
        )
