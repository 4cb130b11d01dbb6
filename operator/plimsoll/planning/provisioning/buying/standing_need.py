"""How many nodes a pool lacks that are to be there whether or not jobs wait."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.provisioning.ageing import aged_nodes, staying_nodes
from plimsoll.planning.provisioning.future_nodes import FutureNode, coming_orders
from plimsoll.planning.provisioning.idle_nodes import idle_nodes
from plimsoll_placement.model import WHOLE_GPU_MILLI
from plimsoll_placement.problem import Problem


def missing_nodes(
    pool: GPUPool,
    snapshot: Snapshot,
    used: AbstractSet[str],
    awaited: Iterable[FutureNode],
    planned: Problem | None,
) -> int:
    """How many nodes a pool lacks of its fewest, and of its headroom.

    `used` nodes have jobs; `awaited` ones are on their way for jobs that wait. What jobs hold
    beyond their least sizes counts as headroom, since they shrink for those that wait. Nodes that
    are as old as they may be are replaced first.
    """
    terms, name = pool.spec.provisioning, pool.metadata.name
    if terms is None:
        return 0
    coming = coming_orders(pool, snapshot)
    missing = terms.min - len(staying_nodes(pool, snapshot)) - len(coming)
    if not terms.headroom:
        return missing
    spoken_for = {(each.order.name, each.order.number) for each in awaited if each.order}
    free = sum((order.name, order.number) not in spoken_for for order in coming)
    free += idle_nodes(snapshot, used | aged_nodes(pool, snapshot))[name]
    free += _grown_nodes(pool, planned)
    return max(missing, terms.headroom - free)


def _grown_nodes(pool: GPUPool, planned: Problem | None) -> int:
    """How many of a pool's nodes would do for what jobs hold there beyond their least sizes."""
    if planned is None:
        return 0
    mine = {node.name for node in planned.nodes if node.pool == pool.metadata.name}
    grown = sum(
        job.role(assignment.role).shape.gpu_milli
        for job in planned.jobs
        if job.gang and job.knows_its_roles
        for assignment in job.beyond_least(job.running)
        for node in assignment.nodes
        if node in mine
    )
    return grown // (WHOLE_GPU_MILLI * (pool.spec.gpus_per_node or 1))
