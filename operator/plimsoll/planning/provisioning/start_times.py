"""Learn how long nodes take from their order until pods can start there."""

from datetime import timedelta
from statistics import median
from typing import Final

from plimsoll.api.gpu_pool import GPUPool, Provisioning
from plimsoll.observe.snapshot import Snapshot

_LATEST: Final = 16
"""How many of the latest nodes are looked at."""


def start_time(pool: GPUPool, snapshot: Snapshot) -> timedelta:
    """How long a node of the pool usually takes: as seen, or else as its pool says."""
    seen = seen_start_time(pool, snapshot)
    if seen is not None:
        return seen
    terms = pool.spec.provisioning
    return (Provisioning(max=0) if terms is None else terms).start_time


def seen_start_time(pool: GPUPool, snapshot: Snapshot) -> timedelta | None:
    """The median of those that are there, or by the pool's status of those before; None if unseen.

    What was seen before the pool was changed is of other nodes, perhaps.
    """
    took = sorted(
        (order.since, order.arrival - order.since)
        for order in snapshot.orders
        if order.pool == pool.metadata.name
        and order.since is not None
        and order.arrival is not None
        and order.arrival > order.since
    )
    if took:
        seconds = median(each.total_seconds() for _, each in took[-_LATEST:])
        return timedelta(seconds=max(1, round(seconds)))
    said = pool.status.provisioning
    if said is None or pool.status.observed_generation != pool.metadata.generation:
        return None
    return said.start_time
