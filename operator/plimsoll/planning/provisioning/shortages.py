"""Remember which pools have no nodes to be had, and when to try them again.

Karpenter deletes a NodeClaim for which there is no capacity, or whose node does not register. So an
order that is gone before its node has arrived, and was not given back, could not be met. Nor could
a ProvisioningRequest that has failed, or that is overdue.
"""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from plimsoll.api.gpu_pool import MOST_ORDERED, GPUPool, ProvisioningStatus
from plimsoll.observe.nodes.orders import Order, Way
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.provisioning.future_nodes import (
    hourly_price,
    is_overdue,
    seen_amounts,
    seen_resources,
)
from plimsoll.planning.provisioning.start_times import seen_start_time

FIRST_PAUSE: Final = timedelta(minutes=1)
LONGEST_PAUSE: Final = timedelta(minutes=30)
_MOST_DOUBLINGS: Final = 5
_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class _Failures:
    """How many orders of a pool in a row could not be met, and when to try again."""

    count: int = 0
    until: datetime | None = None

    @property
    def since(self) -> datetime | None:
        """When the last of them failed."""
        return None if self.until is None else self.until - _pause(self.count)


@dataclass(frozen=True, slots=True)
class News:
    """What has become of orders since the last turn, by their pools."""

    arrived: Mapping[str, tuple[str, ...]]
    failed: Mapping[str, tuple[str, ...]]


class Shortages:
    """What is known of the orders of each pool; after a restart, by the pools' statuses."""

    def __init__(self) -> None:
        self._coming: dict[str, str] = {}
        """The pool of each order whose node has not arrived, by the order's name."""
        self._failures: dict[str, _Failures] = {}
        self._known: dict[str, str] = {}
        """The uid of each pool: one of the same name that is made later is another."""

    def see(self, snapshot: Snapshot, under_way: AbstractSet[str] = frozenset()) -> News:
        """Take in what has become of the orders; those `under_way` may not be there yet."""
        for pool in snapshot.pools:
            if self._known.get(pool.metadata.name) != pool.metadata.uid:
                self._begin(pool)
        there = _there(snapshot)
        gone = {n: p for n, p in self._coming.items() if n not in there and n not in under_way}
        arrived = {n: p for n, p in self._coming.items() if n in there and there[n].arrived}
        for pool in sorted({*gone.values()}):
            self.failed(pool, snapshot.now)
        for name, pool in arrived.items():
            # Those that were ordered together with what failed show nothing of what there is now.
            since, ordered = self._failures.get(pool, _Failures()).since, there[name].since
            if since is not None and ordered is not None and ordered > since:
                self._failures[pool] = _Failures()
        still = {name: pool for name, pool in self._coming.items() if name in under_way}
        coming = (order for order in there.values() if not order.arrived)
        self._coming = still | {order.name: order.pool for order in coming}
        return News(_by_pool(arrived), _by_pool(gone))

    def ordered(self, name: str, pool: str) -> None:
        """A node is being ordered."""
        self._coming[name] = pool

    def given_up(self, name: str) -> None:
        """An order is being taken back, or was never made: that it goes is no failure."""
        self._coming.pop(name, None)

    def failed(self, pool: str, now: datetime) -> None:
        """A node of the pool could not be had: leave it alone for a while, longer each time.

        What fails while it is left alone was ordered before that, so it is the same time.
        """
        before = self._failures.get(pool, _Failures()).count
        count = before if pool in self.blocked(now) else before + 1
        until = (now + _pause(count)).replace(microsecond=0)
        self._failures[pool] = _Failures(count, until)

    def blocked(self, now: datetime) -> frozenset[str]:
        """The pools of which nothing can be bought now."""
        return frozenset(
            pool
            for pool, each in self._failures.items()
            if each.until is not None and each.until > now
        )

    def short_lately(self, now: datetime) -> frozenset[str]:
        """The pools of which a node could not be had within the longest time of such a pause."""
        return frozenset(
            pool
            for pool, each in self._failures.items()
            if each.since is not None and now - each.since < LONGEST_PAUSE
        )

    def until(self, pool: str) -> datetime | None:
        """Until when nothing of a pool can be bought."""
        return self._failures.get(pool, _Failures()).until

    def status(
        self, pool: GPUPool, snapshot: Snapshot, idle_time: timedelta | None = None
    ) -> ProvisioningStatus | None:
        """What a pool's status says; None if none of its nodes are bought."""
        if pool.spec.provisioning is None:
            return None
        name = pool.metadata.name
        known = self._failures.get(name, _Failures())
        orders = [order for order in snapshot.orders if order.pool == name]
        cpu, memory = seen_amounts(pool, snapshot)
        return ProvisioningStatus(
            ordered=tuple(dict.fromkeys(_coming(orders)))[:MOST_ORDERED],
            failures=known.count,
            retry_time=known.until,
            start_time=seen_start_time(pool, snapshot),
            idle_time=idle_time,
            cpu=cpu,
            memory=memory,
            resources=dict(seen_resources(pool, snapshot)),
            price_per_gpu_hour=pool.spec.price_per_gpu_hour or None,
            dollars_per_hour=round(hourly_price(pool) * len(orders), _DIGITS),
        )

    def _begin(self, pool: GPUPool) -> None:
        name, said = pool.metadata.name, pool.status.provisioning
        if name in self._known:
            self._coming = {order: of for order, of in self._coming.items() if of != name}
        self._known[name] = pool.metadata.uid
        self._failures.pop(name, None)
        if said is not None:
            self._failures[name] = _Failures(said.failures, said.retry_time)
            self._coming.update((order, name) for order in said.ordered)


def known_blocked(snapshot: Snapshot) -> frozenset[str]:
    """The pools of which nothing can be bought now, by their statuses."""
    return frozenset(
        pool.metadata.name
        for pool in snapshot.pools
        if (said := pool.status.provisioning) is not None
        and said.retry_time is not None
        and said.retry_time > snapshot.now
    )


def _there(snapshot: Snapshot) -> dict[str, Order]:
    """The orders by name; of several nodes that were ordered together, one that is still to come.

    What is overdue of these is not there any more: no more of them can be expected.
    """
    pools = {pool.metadata.name: pool for pool in snapshot.pools}
    given_up = {o.name for o in snapshot.orders if _is_given_up(o, pools[o.pool], snapshot.now)}
    last = sorted(snapshot.orders, key=lambda order: not order.arrived)
    return {o.name: o for o in last if not o.leaving and o.name not in given_up}


def _is_given_up(order: Order, pool: GPUPool, now: datetime) -> bool:
    return order.way is Way.PROVISIONING_REQUEST and is_overdue(order, pool, now)


def _coming(orders: Iterable[Order]) -> Iterator[str]:
    """The names of those whose nodes have not arrived."""
    return (order.name for order in orders if not (order.arrived or order.leaving))


def _pause(failures: int) -> timedelta:
    """How long a pool is left alone after so many failures in a row."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(failures - 1, _MOST_DOUBLINGS))


def _by_pool(names: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    pools = sorted({*names.values()})
    return {pool: tuple(sorted(n for n, of in names.items() if of == pool)) for pool in pools}
