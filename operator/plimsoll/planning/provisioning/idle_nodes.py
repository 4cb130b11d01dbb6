"""Find nodes that were bought and are idle for long enough to be given back.

A node is first closed by a taint, and given back once that has been seen and it is still idle: no
plan can have put a job there meanwhile. How long nodes have been idle is forgotten by a restart,
which keeps them a while longer.
"""

from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from plimsoll.api.gpu_pool import GPUPool, Provisioning
from plimsoll.api.values.durations import duration_text
from plimsoll.kube.objects.objects import Taint
from plimsoll.observe.nodes.notices import GIVEN_BACK_TAINT
from plimsoll.observe.nodes.orders import Order
from plimsoll.observe.snapshot import NodeView, Snapshot
from plimsoll.planning.provisioning.future_nodes import is_overdue, present_nodes

_NEVER_CAME: Final = "it has not come in time with all its GPUs"


@dataclass(frozen=True, slots=True)
class Close:
    """Keep everything off a node that is to be given back."""

    node: NodeView
    message: str

    @property
    def taint(self) -> Taint:
        """The taint that does so."""
        return Taint(GIVEN_BACK_TAINT, "NoSchedule")


@dataclass(frozen=True, slots=True)
class Reopen:
    """Let a node be used again that was to be given back."""

    node: NodeView
    message: str

    @property
    def taint(self) -> Taint | None:
        """The taint to remove."""
        return _taint(self.node)


@dataclass(frozen=True, slots=True)
class GiveBack:
    """Have a node removed that was ordered; `in_vain` if it never came with all its GPUs."""

    order: Order
    pool: GPUPool
    message: str
    in_vain: bool = False


class IdleNodes:
    """Remembers since when ordered nodes have been idle."""

    def __init__(self) -> None:
        self._since: dict[str, datetime] = {}

    def due(
        self, snapshot: Snapshot, wanted: AbstractSet[str]
    ) -> Iterator[Close | Reopen | GiveBack]:
        """What to do now; nodes that are `wanted` by their names are not idle."""
        before, self._since = self._since, {}
        used = wanted | {name for job in snapshot.present for name in job.placed_nodes}
        pools = {pool.metadata.name: pool for pool in snapshot.pools}
        left = Counter({name: len(present_nodes(pool, snapshot)) for name, pool in pools.items()})
        for order in snapshot.orders:
            pool, node = pools[order.pool], snapshot.node_by_name.get(order.node)
            terms = pool.spec.provisioning
            if order.leaving:
                continue
            if is_overdue(order, pool, snapshot.now):
                yield GiveBack(order, pool, _NEVER_CAME, in_vain=True)
            if terms is None or node is None or not order.arrived:
                continue
            closed = _taint(node) is not None
            if order.occupied or order.node in used or left[order.pool] <= terms.min:
                if closed:
                    yield Reopen(node, "it is needed again")
                continue
            since = self._since[order.uid] = before.get(order.uid, snapshot.now)
            if closed or snapshot.now - since >= terms.idle_time:
                left[order.pool] -= 1
                text = _idle(terms)
                yield GiveBack(order, pool, text) if closed else Close(node, text)


def _taint(node: NodeView) -> Taint | None:
    return next((t for t in node.node.spec.taints if t.key == GIVEN_BACK_TAINT), None)


def _idle(terms: Provisioning) -> str:
    return f"it has been idle for {duration_text(terms.idle_time)}"
