"""Nodes on their way, and the jobs that wait for them: none goes to others, or comes for nobody."""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.nodes.orders import Order, Way
from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.provisioning.buying.purchases import Purchases
from plimsoll.planning.provisioning.buying.standing_need import missing_nodes
from plimsoll.planning.provisioning.future_nodes import coming_orders
from plimsoll.planning.provisioning.idle_nodes import GiveBack
from plimsoll_placement.problem import Problem

_NOBODY_WAITS: Final = "no job waits for it any more"


def arriving(found: Purchases, snapshot: Snapshot) -> Mapping[JobName, frozenset[str]]:
    """Of the jobs whose nodes have all been ordered, those that are there already.

    A job of which an order has failed waits for what is found next.
    """
    node_of = {order.name: order.node for order in snapshot.orders if not order.leaving}
    nodes: dict[JobName, frozenset[str]] = {}
    for job, waiting in found.waiting.items():
        names = [None if each.order is None else node_of.get(each.order.name) for each in waiting]
        if all(name is not None for name in names):
            there = {name for name in names if name and name in snapshot.node_by_name}
            nodes[job] = found.kept.get(job, frozenset()) | there
    return nodes


def unawaited(
    found: Purchases,
    snapshot: Snapshot,
    used: AbstractSet[str],
    planned: Problem | None,
    spared: AbstractSet[str] = frozenset(),
) -> Iterator[GiveBack]:
    """The orders on their way for which no job waits, by what was found for this snapshot.

    Those that an unpaid job would use stay as well: it may do with them once it is tried again.
    Those that pools lack of `min` and `headroom` stay, and those whose nodes may be there already:
    these become idle. So do `spared` ones. See `missing_nodes` for the other arguments.
    """
    of_jobs = (*found.waiting.values(), *found.unpaid.values())
    nodes = [each for of_job in of_jobs for each in of_job]
    names = {each.order.name for each in nodes if each.order is not None}
    for pool in snapshot.pools:
        coming = [each for each in coming_orders(pool, snapshot) if each.way is Way.NODE_CLAIM]
        spare = min(-missing_nodes(pool, snapshot, used, nodes, planned), len(coming))
        spare -= _counted_twice(pool, coming, snapshot)
        unneeded = [order for order in coming if order.name not in names | spared]
        for order in unneeded[: max(0, spare)]:
            yield GiveBack(order, pool, _NOBODY_WAITS)


def _counted_twice(pool: GPUPool, coming: Iterable[Order], snapshot: Snapshot) -> int:
    """How many nodes may be there already of which their orders do not say so yet."""
    ordered = {order.node for order in snapshot.orders}
    others = sum(n.name not in ordered for n in snapshot.nodes_by_pool[pool.metadata.name])
    return min(others, sum(not order.node for order in coming))
