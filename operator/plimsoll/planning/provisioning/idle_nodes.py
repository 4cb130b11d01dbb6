"""Find nodes that were bought and are to be given back: idle, aged, or emptied.

A node is first closed by a taint, and given back once that has been seen and it is still idle: no
plan can have put a job there meanwhile. After a restart nodes count as idle since their last pod
event; without one they are kept a while longer. Nodes that cluster-autoscaler made are closed too
if they are to go, and it removes them some time after they have become idle.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from plimsoll.api.gpu_pool import GPUPool, Provisioning
from plimsoll.api.values.durations import duration_text
from plimsoll.kube.objects.objects import Taint
from plimsoll.observe.nodes.notices import (
    AUTOSCALED_EMPTIED_TAINT,
    AUTOSCALED_GIVEN_BACK_TAINT,
    EMPTIED_TAINT,
    GIVEN_BACK_TAINT,
    closing_taint,
    is_emptied,
)
from plimsoll.observe.nodes.orders import Order, Way
from plimsoll.observe.snapshot import NodeView, Snapshot
from plimsoll.planning.provisioning.ageing import aged_nodes, staying_nodes
from plimsoll.planning.provisioning.future_nodes import is_overdue
from plimsoll.planning.provisioning.idle_times import UNKNOWN

_TAINTS: Final = {
    Way.NODE_CLAIM: (GIVEN_BACK_TAINT, EMPTIED_TAINT),
    Way.PROVISIONING_REQUEST: (AUTOSCALED_GIVEN_BACK_TAINT, AUTOSCALED_EMPTIED_TAINT),
}
"""Those that close a node, and those that empty it."""
_NEVER_CAME: Final = "it has not come in time with all its GPUs"
_NEEDED: Final = "it is needed again"
_STAYS: Final = "its pool has no provisioning any more: it is not given back"
_FITS_ELSEWHERE: Final = "what runs there fits elsewhere: it moves, and the node is given back"


@dataclass(frozen=True, slots=True)
class Close:
    """Keep everything new off a node that is to be given back; if it `empties`, what runs too.

    `way`: by which it was ordered.
    """

    node: NodeView
    message: str
    way: Way
    empties: bool = False

    @property
    def taint(self) -> Taint:
        """The taint that does so."""
        return Taint(_TAINTS[self.way][self.empties], "NoSchedule")


@dataclass(frozen=True, slots=True)
class Reopen:
    """Let a node be used again that was to be given back."""

    node: NodeView
    message: str

    @property
    def taint(self) -> Taint | None:
        """The taint to remove."""
        return closing_taint(self.node.node)


@dataclass(frozen=True, slots=True)
class GiveBack:
    """Have a node removed that was ordered; `in_vain` if it never came with all its GPUs."""

    order: Order
    pool: GPUPool
    message: str
    in_vain: bool = False


@dataclass(frozen=True, slots=True)
class Uses:
    """What nodes are used for.

    `used`: the names of those that have jobs or await some. `emptied`: that of one whose jobs
    fit elsewhere. `someone_waits`: jobs have no place, so that nothing can be emptied. `times`: how
    long idle nodes of each pool are kept.
    """

    used: AbstractSet[str] = frozenset()
    emptied: str | None = None
    someone_waits: bool = False
    times: Mapping[str, timedelta] = field(default_factory=dict[str, timedelta])


class IdleNodes:
    """Remembers since when ordered nodes have been idle."""

    def __init__(self) -> None:
        self._since: dict[str, datetime] = {}
        self._seen: AbstractSet[str] = frozenset()
        """The orders that were there in the last turn."""

    def due(self, snapshot: Snapshot, uses: Uses) -> Iterator[Close | Reopen | GiveBack]:
        """What to do now."""
        before, self._since = self._since, {}
        seen, self._seen = self._seen, frozenset(order.uid for order in snapshot.orders)
        pools = {pool.metadata.name: pool for pool in snapshot.pools}
        left = Counter({name: len(staying_nodes(pool, snapshot)) for name, pool in pools.items()})
        aged = frozenset[str]().union(*(aged_nodes(pool, snapshot) for pool in snapshot.pools))
        spare = idle_nodes(snapshot, uses.used | aged)
        for order in snapshot.orders:
            pool, node = pools[order.pool], snapshot.node_by_name.get(order.node)
            terms = pool.spec.provisioning
            if order.leaving:
                continue
            if order.way is Way.NODE_CLAIM and is_overdue(order, pool, snapshot.now):
                yield GiveBack(order, pool, _NEVER_CAME, in_vain=True)
            if terms is None or node is None or not order.arrived:
                continue
            if order.node in aged:
                yield from _aged(order, pool, node, uses)
            elif order.node in uses.used:
                yield from _used(order, node, uses)
            elif is_kept(terms, left[order.pool], spare[order.pool]):
                yield from _reopened(node)
            else:
                first = None if order.uid in seen else order.last_pod_event
                since = before.get(order.uid) or first or snapshot.now
                self._since[order.uid] = since
                changes = [*_idle(order, pool, node, uses, snapshot.now - since)]
                if changes or closing_taint(node.node) is not None:
                    left[order.pool] -= 1
                    spare[order.pool] -= 1
                yield from changes


def to_reopen(snapshot: Snapshot) -> Iterator[Reopen]:
    """The nodes that are closed, and whose pools buy and give back no more."""
    pools = {pool.metadata.name: pool for pool in snapshot.pools}
    for order in snapshot.orders:
        node = snapshot.node_by_name.get(order.node)
        buys_no_more = pools[order.pool].spec.provisioning is None
        if buys_no_more and node is not None and not order.leaving:
            yield from _reopened(node, _STAYS)


def is_kept(terms: Provisioning, present: int, idle: int) -> bool:
    """Whether a pool keeps an idle node, having so many nodes of which so many are idle."""
    return present <= terms.min or idle <= terms.headroom


def in_use(snapshot: Snapshot, wanted: AbstractSet[str]) -> frozenset[str]:
    """The names of the nodes that are `wanted`, or on which jobs or others have pods."""
    placed = {name for job in snapshot.present for name in job.placed_nodes}
    occupied = {order.node for order in snapshot.orders if order.occupied}
    return frozenset(wanted | placed | occupied)


def idle_nodes(snapshot: Snapshot, used: AbstractSet[str]) -> Counter[str]:
    """How many bought nodes of each pool have arrived and are not used."""
    there = (order for order in snapshot.orders if order.arrived and not order.leaving)
    return Counter(order.pool for order in there if order.node not in used)


def _idle(
    order: Order, pool: GPUPool, node: NodeView, uses: Uses, idle: timedelta
) -> Iterator[Close | Reopen | GiveBack]:
    """What to do with a node that has been `idle` for so long, and is not kept."""
    closed, time = closing_taint(node.node) is not None, uses.times.get(order.pool, UNKNOWN)
    if order.way is Way.PROVISIONING_REQUEST:
        if uses.someone_waits:
            yield from _reopened(node)
    elif closed:
        yield GiveBack(order, pool, _why(node, time))
    elif idle >= time:
        yield Close(node, _why(node, time), order.way)


def _reopened(node: NodeView, why: str = _NEEDED) -> Iterator[Reopen]:
    """Let a node be used again if it is closed."""
    if closing_taint(node.node) is not None:
        yield Reopen(node, why)


def _used(order: Order, node: NodeView, uses: Uses) -> Iterator[Close | Reopen]:
    """What to do with a node that is in use, and is not too old."""
    taint = closing_taint(node.node)
    if taint is None and node.name == uses.emptied:
        yield Close(node, _FITS_ELSEWHERE, order.way, empties=True)
    elif taint is not None and (uses.someone_waits or not is_emptied(taint)):
        yield Reopen(node, _NEEDED)


def _aged(order: Order, pool: GPUPool, node: NodeView, uses: Uses) -> Iterator[Close | GiveBack]:
    """What to do with a node that is as old as its pool's nodes may be."""
    terms, taint = pool.spec.provisioning, closing_taint(node.node)
    age = "" if terms is None or terms.max_age is None else duration_text(terms.max_age)
    text = f"it has reached maxAge of its GPUPool, {age}"
    if taint is None:
        yield Close(node, text, order.way)
    elif node.name not in uses.used:
        if order.way is Way.NODE_CLAIM:
            yield GiveBack(order, pool, text)
    elif not is_emptied(taint) and node.name == uses.emptied:
        yield Close(node, _FITS_ELSEWHERE, order.way, empties=True)


def _why(node: NodeView, time: timedelta) -> str:
    taint = closing_taint(node.node)
    if taint is not None and is_emptied(taint):
        return "what ran there has moved elsewhere"
    return f"it has been idle for {duration_text(time)}"
