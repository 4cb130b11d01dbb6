"""Learn how long nodes take from their order until pods can start there."""

from collections.abc import Iterable
from datetime import timedelta
from statistics import median
from typing import Final

from plimsoll.api.gpu_pool import GPUPool, Provisioning
from plimsoll.observe.snapshot import Snapshot

_LATEST: Final = 16
"""How many of the latest nodes are looked at."""


def start_time(pool: GPUPool, snapshot: Snapshot) -> timedelta:
    """How long a node of the pool usually takes: as seen, or else as its pool says."""
    return seen_start_time(pool, snapshot) or _stated(pool)


def longest_start_time(pools: Iterable[GPUPool]) -> timedelta:
    """How long jobs may have to wait for a node of one of the pools that grow, by what they say."""
    growing = (pool for pool in pools if pool.spec.provisioning is not None)
    times = (_said(pool) or _stated(pool) for pool in growing)
    return max(times, default=timedelta())


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
    return _said(pool)


def _said(pool: GPUPool) -> timedelta | None:
    """What the pool's status says of its present spec."""
    said = pool.status.provisioning
    if said is None or pool.status.observed_generation != pool.metadata.generation:
        return None
    return said.start_time


def _stated(pool: GPUPool) -> timedelta:
    terms = pool.spec.provisioning
    return (Provisioning(max=0) if terms is None else terms).start_time
