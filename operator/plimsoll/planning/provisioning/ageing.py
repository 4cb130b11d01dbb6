"""Tell which nodes are too old, and which stay."""

from collections.abc import Sequence
from datetime import datetime

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.nodes.orders import Order
from plimsoll.observe.snapshot import NodeView, Snapshot
from plimsoll.planning.provisioning.future_nodes import present_nodes


def is_aged(order: Order, pool: GPUPool, now: datetime) -> bool:
    """Whether an ordered node is older than its pool's nodes may be."""
    terms = pool.spec.provisioning
    if terms is None or terms.max_age is None or order.since is None:
        return False
    return now - order.since >= terms.max_age


def aged_nodes(pool: GPUPool, snapshot: Snapshot) -> frozenset[str]:
    """The names of the pool's nodes that are that old."""
    terms = pool.spec.provisioning
    if terms is None or terms.max_age is None:
        return frozenset()
    mine = (order for order in snapshot.orders if order.pool == pool.metadata.name)
    return frozenset(order.node for order in mine if is_aged(order, pool, snapshot.now))


def staying_nodes(pool: GPUPool, snapshot: Snapshot) -> Sequence[NodeView]:
    """The pool's nodes that are there and are not too old."""
    aged = aged_nodes(pool, snapshot)
    return [node for node in present_nodes(pool, snapshot) if node.name not in aged]
