"""Tell which bought nodes have reached the age at which their pool gives them back."""

from datetime import datetime

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.nodes.orders import Order, Way
from plimsoll.observe.snapshot import Snapshot


def is_aged(order: Order, pool: GPUPool, now: datetime) -> bool:
    """Whether a node that we can give back is older than its pool's nodes may be."""
    terms = pool.spec.provisioning
    if terms is None or terms.max_age is None or order.since is None:
        return False
    if order.way is Way.PROVISIONING_REQUEST:
        return False
    return now - order.since >= terms.max_age


def aged_nodes(pool: GPUPool, snapshot: Snapshot) -> frozenset[str]:
    """The names of the pool's nodes that are that old."""
    mine = (order for order in snapshot.orders if order.pool == pool.metadata.name)
    return frozenset(order.node for order in mine if is_aged(order, pool, snapshot.now))
