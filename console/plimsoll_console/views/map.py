"""The map: all GPUs by rack and node, and who holds them.

Whoever may not see a job sees that its GPUs are taken; whoever may not see nodes sees them without
names.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.nodes.gpus import Offer
from plimsoll.observe.nodes.orders import Order
from plimsoll.observe.snapshot import JobName, JobView, NodeView
from plimsoll.vocabulary.reasons import Reason
from plimsoll_console.messages.map import (
    Cell,
    Ghost,
    GroupCounts,
    Holding,
    Map,
    MapGroup,
    MapJob,
    MapNode,
    NodeState,
)
from plimsoll_console.views.holdings import (
    Held,
    Holdings,
    all_units,
    holdings_of,
    other_units,
    state_of,
    type_of,
    watts_per_gpu,
)
from plimsoll_console.views.sight import Sight, key_of
from plimsoll_console.views.stamps import Stamp

MOST_NODES: Final = 300
"""With more nodes, groups come without them."""
LARGEST_GROUP: Final = 128
"""A larger rack or pool is shown as several groups."""
MOST_SHARES: Final = 24
"""How many of the jobs of a group are named where its nodes are left out."""
Change = Literal["Arrives", "Leaves"]
_RACK: Final = "rack"
_HOST: Final = "host"
_WHOLE: Final = 1000


def map_of(sight: Sight, stamp: Stamp) -> Map:
    """The whole map."""
    return _Drawing(sight).whole(stamp)


def group_of(sight: Sight, key: str, stamp: Stamp) -> Map | None:
    """One group of the map, with its nodes; None if there is none of that key."""
    return _Drawing(sight).group(key, stamp)


@dataclass(frozen=True, slots=True)
class _Group:
    """Nodes that are shown together, under a name."""

    kind: str
    name: str
    nodes: tuple[NodeView, ...]
    orders: tuple[Order, ...] = ()
    part: int = 0

    @property
    def title(self) -> str:
        """Its name; of a part of one that is too large, also which."""
        return f"{self.name} ({self.part})" if self.part else self.name


class _Drawing:
    """Draws the map for one sight; jobs get their numbers as they appear."""

    def __init__(self, sight: Sight) -> None:
        self._sight, self._snapshot = sight, sight.snapshot
        self._numbers: dict[JobName, int] = {}
        self._jobs: list[MapJob] = []
        self._held: Holdings = holdings_of(sight.snapshot)

    def whole(self, stamp: Stamp) -> Map:
        groups = self._groups
        aggregated = sum(len(each.nodes) for each in groups) > MOST_NODES
        drawn = tuple(self._drawn(each, with_nodes=not aggregated) for each in groups)
        ghosts = () if aggregated else tuple(self._ghosts())
        # Last, as those above number the jobs.
        return Map(*stamp, aggregated, tuple(self._jobs), drawn, ghosts)

    def group(self, key: str, stamp: Stamp) -> Map | None:
        found = next((each for each in self._groups if self._key(each) == key), None)
        if found is None:
            return None
        drawn = self._drawn(found, with_nodes=True)
        there = {node.name for node in found.nodes}
        ghosts = tuple(self._ghosts(there))
        return Map(*stamp, aggregated=False, jobs=tuple(self._jobs), groups=(drawn,), ghosts=ghosts)

    @cached_property
    def _groups(self) -> list[_Group]:
        return [*_groups(self._sight)]

    def _key(self, group: _Group) -> str:
        return self._sight.opaque("group", f"{group.kind}/{group.title}")

    def _drawn(self, group: _Group, *, with_nodes: bool) -> MapGroup:
        is_named = self._sight.rights.nodes or not group.name
        nodes = [each for node in group.nodes for each in self._node(node)] if with_nodes else []
        coming = [self._coming(order) for order in group.orders] if with_nodes else []
        return MapGroup(
            key=self._key(group),
            name=group.title if is_named else None,
            kind=group.kind,
            counts=self._counts(group),
            shares=self._shares(group),
            nodes=(*nodes, *coming),
        )

    def _counts(self, group: _Group) -> GroupCounts:
        states = Counter[str](_state(node) for node in group.nodes)
        states["Coming"] += len(group.orders)
        uses: Counter[str] = Counter()
        for node in group.nodes:
            uses.update(_uses(node, self._held.get(node.name, ()), self._sight))
        return GroupCounts(
            nodes=len(group.nodes),
            states={state: count for state, count in states.items() if count},
            free_milli=uses["free"],
            job_milli=uses["job"],
            taken_milli=uses["taken"],
            other_milli=uses["other"],
            unusable_milli=uses["unusable"],
        )

    def _shares(self, group: _Group) -> tuple[tuple[int, int], ...]:
        shares: Counter[JobName] = Counter()
        views: dict[JobName, JobView] = {}
        for node in group.nodes:
            for held in self._held.get(node.name, ()):
                if self._sight.job(held.job):
                    shares[held.job.name] += _milli(node, held)
                    views[held.job.name] = held.job
        largest = shares.most_common(MOST_SHARES)
        return tuple((self._number(views[name]), milli) for name, milli in largest if milli)

    def _node(self, node: NodeView) -> Iterator[MapNode]:
        pool = self._snapshot.pool_by_node.get(node.name)
        for number, offer in enumerate(node.offers):
            key = f"{node.name}/{number}"
            yield MapNode(
                key=self._sight.opaque("node", key if number else node.name),
                name=node.name if node.name in self._sight.nodes else None,
                state=_state(node),
                reason=node.state.reason or "",
                message=self._sight.text(node.state.message) if self._sight.rights.nodes else "",
                type=type_of(self._snapshot, node, offer),
                pool=pool.metadata.name if pool and self._sight.rights.pools else None,
                spot=pool is not None and pool.spec.capacity_type == "Spot",
                cap_watts=node.cap_watts,
                idle_watts=pool.spec.power.idle_watts if pool and pool.spec.power else None,
                unit_milli=offer.share_milli,
                cells=self._cells(node, offer),
            )

    def _coming(self, order: Order) -> MapNode:
        pool = next(p for p in self._snapshot.pools if p.metadata.name == order.pool)
        spec = pool.spec
        return MapNode(
            key=self._sight.opaque("order", f"{order.uid}/{order.number}"),
            name=(order.node or order.name) if self._sight.rights.nodes else None,
            state="Coming",
            reason=Reason.NODE_ORDERED,
            message="",
            type=spec.gpu_type or "",
            pool=pool.metadata.name if self._sight.rights.pools else None,
            spot=spec.capacity_type == "Spot",
            cap_watts=None,
            idle_watts=spec.power.idle_watts if spec.power else None,
            unit_milli=_WHOLE,
            cells=(Cell(),) * (spec.gpus_per_node or 0),
        )

    def _cells(self, node: NodeView, offer: Offer) -> tuple[Cell, ...]:
        pieces = [
            (held.units * offer.share_milli, self._holding(held))
            for held in self._held.get(node.name, ())
            if held.resource == offer.resource
        ]
        others = other_units(node, offer) * offer.share_milli
        if others:
            pieces.append((others, Holding(0, "other")))
        return _filled(offer, pieces)

    def _holding(self, held: Held) -> Holding:
        if not self._sight.job(held.job):
            return Holding(0, "taken", None, held.phase)
        return Holding(0, "job", self._number(held.job), held.phase)

    def _number(self, view: JobView) -> int:
        number = self._numbers.get(view.name)
        if number is None:
            number = self._numbers[view.name] = len(self._jobs)
            self._jobs.append(self._job(view))
        return number

    def _job(self, view: JobView) -> MapJob:
        percent, reason = _waste(view)
        return MapJob(
            key=key_of(view),
            queue=view.resource.spec.queue,
            state=state_of(view),
            watts=watts_per_gpu(self._snapshot, view),
            waste_percent=percent,
            waste_reason=reason,
        )

    def _ghosts(self, only: set[str] | None = None) -> Iterator[Ghost]:
        for view in self._sight.jobs:
            reason = view.resource.status.reason
            for name, milli, change in _changes(view):
                if only is None or name in only:
                    node = self._sight.opaque("node", name)
                    yield Ghost(self._number(view), node, milli, change, reason)


def _groups(sight: Sight) -> Iterator[_Group]:
    """The racks and pools by name; those that are too large in parts."""
    snapshot = sight.snapshot
    found: dict[tuple[str, str], list[NodeView]] = defaultdict(list)
    for node in snapshot.nodes:
        if node.offers:
            found[_home(node, snapshot.pool_by_node.get(node.name))].append(node)
    there = set(snapshot.node_by_name)
    orders: dict[tuple[str, str], list[Order]] = defaultdict(list)
    for order in snapshot.orders:
        if not order.arrived and not order.leaving and order.node not in there:
            orders["pool", order.pool].append(order)
    for kind, name in sorted({*found, *orders}):
        nodes, coming = found.get((kind, name), []), tuple(orders.get((kind, name), ()))
        parts = [nodes[at : at + LARGEST_GROUP] for at in range(0, len(nodes), LARGEST_GROUP)]
        for number, part in enumerate(parts or [[]]):
            whole = len(parts) <= 1
            at = 0 if whole else number + 1
            yield _Group(kind, name, tuple(part), coming if number == 0 else (), at)


def _home(node: NodeView, pool: GPUPool | None) -> tuple[str, str]:
    """What a node is shown under: its rack, otherwise its pool."""
    keys = pool.spec.topology_keys if pool is not None else ()
    named = {key.name: key.label for key in keys if key.name != _HOST}
    level = _RACK if _RACK in named else next(reversed(named), "")
    where = node.labels.get(named[level], "") if level else ""
    if where:
        return level, where
    return "pool", pool.metadata.name if pool is not None else ""


def _state(node: NodeView) -> NodeState:
    state = node.state
    if state.open:
        return "Ready"
    if state.reason == Reason.QUARANTINED:
        return "Quarantined"
    if state.reason in (Reason.NOT_READY, Reason.UNHEALTHY):
        return "NotReady"
    return "Closed" if state.usable else "Leaving"


def _uses(node: NodeView, held: Sequence[Held], sight: Sight) -> Mapping[str, int]:
    """The milli-GPUs of a node by use."""
    uses: Counter[str] = Counter()
    total = sum(all_units(offer) * offer.share_milli for offer in node.offers)
    for each in held:
        uses["job" if sight.job(each.job) else "taken"] += _milli(node, each)
    uses["other"] = sum(other_units(node, offer) * offer.share_milli for offer in node.offers)
    rest = max(0, total - uses.total())
    uses["free" if node.state.open else "unusable"] = rest
    return uses


def _milli(node: NodeView, held: Held) -> int:
    found = (offer.share_milli for offer in node.offers if offer.resource == held.resource)
    return held.units * next(found, 0)


def _filled(offer: Offer, pieces: Iterable[tuple[int, Holding]]) -> tuple[Cell, ...]:
    """The devices of an offer, filled in order; what exceeds them is left out."""
    cells: list[list[Holding]] = [[] for _ in range(offer.count)]
    room = [offer.units_per_device * offer.share_milli] * offer.count
    at = 0
    for milli, holding in sorted(pieces, key=lambda piece: -piece[0]):
        left = milli
        while left > 0 and at < offer.count:
            part = min(left, room[at])
            if part:
                cells[at].append(Holding(part, holding.by, holding.job, holding.phase))
            room[at], left = room[at] - part, left - part
            at += room[at] == 0
    return tuple(Cell(tuple(each)) for each in cells)


def _waste(view: JobView) -> tuple[int | None, str]:
    """The share of its GPUs' time that a job loses at present, and why."""
    state = state_of(view)
    if state == "Stopping":
        return 100, "Stopping"
    if state == "Starting":
        restarts = view.resource.status.reason == Reason.RESTARTING
        return 100, "Restarting" if restarts else "Starting"
    training = view.training
    if training is None or state != "Running":
        return None, ""
    slow = training.status.slow_workers
    if slow:
        return max(each.lost_percent for each in slow), "Straggler"
    return (0, "") if training.status.progress is not None else (None, "")


def _changes(view: JobView) -> Iterator[tuple[str, int, Change]]:
    """To and from which nodes a job's pods are about to go, with how many milli-GPUs."""
    milli = view.resource.spec.milli_gpus_by_role
    planned: Counter[str] = Counter()
    placement = view.resource.status.placement
    for place in placement.assignments if placement is not None else ():
        for name in place.nodes:
            planned[name] += milli.get(place.role, 0)
    there: Counter[str] = Counter()
    for pod in view.pods:
        if not pod.is_over and (pod.node or pod.wanted_node):
            there[pod.node or pod.wanted_node] += milli.get(pod.role, 0)
    for name, amount in (planned - there).items():
        yield name, amount, "Arrives"
    for name, amount in (there - planned).items():
        yield name, amount, "Leaves"
