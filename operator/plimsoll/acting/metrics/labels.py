"""The labels under which figures are reported: only what administrators or nodes have made.

Anybody who may create a job may write any queue and GPU type into it. Only those that exist get
series of their own, so that nobody can make the metrics grow without bound.
"""

from typing import Final

from plimsoll.observe.queue_access import DEFAULT_QUEUE
from plimsoll.observe.snapshot import Snapshot
from plimsoll_placement.problem import Problem

UNKNOWN_QUEUE: Final = "(unknown)"
"""The label of jobs whose queue does not exist; no queue can have this name."""
NO_POOL: Final = "(none)"
"""The label of nodes outside all pools; no pool can have this name."""


def counted_queues(snapshot: Snapshot) -> frozenset[str]:
    """The queues that have series of their own."""
    return frozenset({DEFAULT_QUEUE, *(queue.metadata.name for queue in snapshot.queues)})


def counted_as(queue: str, queues: frozenset[str]) -> str:
    """The label of a queue."""
    return queue if queue in queues else UNKNOWN_QUEUE


def pool_label(node: str, snapshot: Snapshot) -> str:
    """The label of a node's pool."""
    pool = snapshot.pool_by_node.get(node)
    return NO_POOL if pool is None else pool.metadata.name


def counted_types(snapshot: Snapshot, problem: Problem) -> frozenset[str]:
    """The GPU types that nodes, pools and quotas have."""
    return frozenset(
        {
            *(devices.gpu_type for node in problem.nodes for devices in node.devices),
            *(pool.spec.gpu_type for pool in snapshot.pools if pool.spec.gpu_type is not None),
            *(quota.type for queue in snapshot.queues for quota in queue.spec.quotas),
        }
    )
