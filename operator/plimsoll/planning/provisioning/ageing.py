"""Tell which nodes are too old, and which stay."""

from collections.abc import Sequence

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.snapshot import NodeView, Snapshot
from plimsoll.planning.provisioning.future_nodes import present_nodes


def aged_nodes(pool: GPUPool, snapshot: Snapshot) -> frozenset[str]:
    """The names of the ordered nodes that are older than the pool's nodes may be."""
    terms = pool.spec.provisioning
    if terms is None or terms.max_age is None:
        return frozenset()
    name, now, most = pool.metadata.name, snapshot.now, terms.max_age
    mine = (order for order in snapshot.orders if order.pool == name)
    return frozenset(o.node for o in mine if o.since is not None and now - o.since >= most)


def staying_nodes(pool: GPUPool, snapshot: Snapshot) -> Sequence[NodeView]:
    """The pool's nodes that are there and are not too old."""
    aged = aged_nodes(pool, snapshot)
    return [node for node in present_nodes(pool, snapshot) if node.name not in aged]
