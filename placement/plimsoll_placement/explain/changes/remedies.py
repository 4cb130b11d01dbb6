"""Single changes that might make up for a shortage, sized from it; whether they do is tried later.

Each kind of change is a ladder of sizes, the smallest first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from plimsoll_placement.explain.changes.changes import (
    AddNodes,
    AdmitNodes,
    AllowSpot,
    Change,
    FreeGpus,
    FreeResources,
    Headroom,
    NewNodes,
    RaiseLimit,
    RaisePower,
    ReopenNodes,
    WidenTopology,
)
from plimsoll_placement.explain.changes.freeing import Freed, freed_gpus
from plimsoll_placement.explain.changes.rooms import Rooms, cheapest_extra
from plimsoll_placement.explain.request import ALL_PERCENT
from plimsoll_placement.explain.shortage.diagnosis import sharing_spot, spot_pods
from plimsoll_placement.explain.shortage.missing_power import draw_of_pod, power_gaps
from plimsoll_placement.explain.shortage.node_index import Bools, NodeIndex, node_index, others_room
from plimsoll_placement.explain.shortage.shortage import Shortage
from plimsoll_placement.model import (
    WHOLE_GPU_MILLI,
    Devices,
    Job,
    Node,
    NodeName,
    Role,
    RoleName,
    Shape,
)
from plimsoll_placement.placing.place import role_view
from plimsoll_placement.state.device_pool import DevicePool, Ints
from plimsoll_placement.state.ledger import Ledger

Ladder = tuple[Change, ...]

MOST_ADDED_NODES = 4096


@dataclass(frozen=True, slots=True)
class Stuck:
    """A role that cannot be placed on a type, in the ledger in which that is so.

    `vacant` is the ledger of the same nodes with nothing of ours on them; `least_draws` says what a
    GPU draws at least on nodes where that is less than typical, in milli-GPUs in typical use.
    """

    ledger: Ledger
    vacant: Ledger
    job: Job
    role: Role
    shortage: Shortage
    least_draws: Mapping[NodeName, int]

    @property
    def view(self) -> Job:
        """The job with the limits of this role."""
        return role_view(self.job, self.role)

    @property
    def limited(self) -> RoleName | None:
        """The role, if its limits are its own and not the job's."""
        return self.role.name if self.role in self.job.companions else None

    @property
    def offered(self) -> NodeIndex:
        """All nodes with the type."""
        return node_index(self.ledger, self.role, self.shortage.ask.gpu_type)

    @property
    def usable(self) -> NodeIndex:
        """The nodes that the role may use."""
        return self.offered.usable(spot=spot_pods(self.job, self.role) > 0)

    def numbers(self, at: NodeIndex) -> Ints:
        """The domain of each entry, if all pods of a group must share one."""
        level = self.view.required_level
        if level is None or self.shortage.ask.group_pods == 1:
            return np.zeros_like(at.rows)
        return self.ledger.domains(level)[at.rows]


def remedies(stuck: Stuck) -> list[Ladder]:
    """Every kind of change that might help, each from its smallest size on."""
    ladders = [
        _limits(stuck),
        _widening(stuck),
        _spot(stuck),
        _powers(stuck),
        *_freeing(stuck),
        _resources(stuck),
        _reopening(stuck),
        _admitting(stuck),
    ]
    if not any(isinstance(change, FreeGpus) for ladder in ladders for change in ladder):
        ladders.append(_adding(stuck))
    return [ladder for ladder in ladders if ladder]


def last_resorts(stuck: Stuck) -> list[Ladder]:
    """The same plus, whatever the cluster lacks, nodes of another kind that have it."""
    ask, shape = stuck.shortage.ask, stuck.role.shape
    whole, part = divmod(shape.gpu_milli, WHOLE_GPU_MILLI)
    devices = [Devices(ask.gpu_type, (WHOLE_GPU_MILLI,) * whole)] if whole else []
    if part:
        devices = [Devices(ask.gpu_type, (part,), part)]
    amounts = shape.cpu_millis, shape.memory_bytes, 1
    node = Node(NodeName("new"), tuple(devices), *amounts, others=shape.others)
    return [*remedies(stuck), (NewNodes(node, ask.role, ask.pods),)]


def _limits(stuck: Stuck) -> Ladder:
    ask, queue = stuck.shortage.ask, stuck.shortage.queue
    if queue is None or queue.milli >= ask.gpu_milli:
        return ()
    return (RaiseLimit(queue.queue, ask.gpu_type, ask.gpu_milli - queue.milli),)


def _widening(stuck: Stuck) -> Ladder:
    level, levels, name = stuck.view.required_level, stuck.ledger.problem.levels, stuck.limited
    if level is None:
        return ()
    wider = [WidenTopology(levels[level], levels[at], at, name) for at in reversed(range(level))]
    return (*wider, WidenTopology(levels[level], "any nodes", None, name))


def _spot(stuck: Stuck) -> Ladder:
    at = stuck.offered.usable(spot=True)
    total = sum(role.least for role in sharing_spot(stuck.job, stuck.role))
    if stuck.view.spot_percent >= ALL_PERCENT or not at.room[at.spot].any():
        return ()
    steady = int(at.room[~at.spot].sum()) // stuck.role.pods_per_replica
    least = -(-ALL_PERCENT * (stuck.role.least - steady) // total)
    percents = {ALL_PERCENT, max(least, stuck.view.spot_percent + 1)}
    return tuple(
        AllowSpot(percent, stuck.limited) for percent in sorted(percents) if percent <= ALL_PERCENT
    )


def _powers(stuck: Stuck) -> Ladder:
    ask, shape = stuck.shortage.ask, stuck.role.shape
    at = stuck.usable
    gaps = power_gaps(stuck.ledger, at, ask)
    if stuck.shortage.power is not None:
        gaps = [stuck.shortage.power, *gaps]
    if not gaps:
        return ()
    most = max((draw_of_pod(stuck.ledger, row, shape) for row in at.rows.tolist()), default=0)
    first = gaps[0]
    enough = most * ask.pods - stuck.ledger.power.left_of(first.domain)
    sizes = sorted({first.missing_milliwatts, max(enough, first.missing_milliwatts)})
    return tuple(RaisePower(first.domain, size) for size in sizes)


def _freeing(stuck: Stuck) -> list[Ladder]:
    """Freed devices; where there is power for more pods if there is such a place."""
    at = stuck.usable
    powered = np.minimum(at.others, stuck.ledger.power.rooms(at.rows, stuck.role.shape))
    numbers, ask = stuck.numbers(at), stuck.shortage.ask
    ladders: list[Ladder] = []
    for device_pool in stuck.ledger.device_pools.get(ask.gpu_type, ()):
        tried = [
            freed_gpus(device_pool, at, ask, beside, numbers) for beside in (powered, at.others)
        ]
        found = [(device_pool, freed) for freed in tried if freed][:1]
        ladders += [(_free_gpus(stuck, *each),) for each in found]
    return ladders


def _free_gpus(stuck: Stuck, device_pool: DevicePool, freed: Freed) -> FreeGpus:
    nodes = stuck.ledger.problem.nodes
    devices = tuple((nodes[row].name, count) for row, count in freed.devices.items())
    draws = (stuck.least_draws.get(name, WHOLE_GPU_MILLI) for name, _ in devices)
    return FreeGpus(
        device_pool.gpu_type,
        device_pool.share_milli,
        freed.level_milli,
        devices,
        freed.missing_milli,
        min(draws, default=WHOLE_GPU_MILLI),
    )


def _resources(stuck: Stuck) -> Ladder:
    at, shape, ledger = stuck.usable, stuck.role.shape, stuck.ledger
    one = np.ones_like(at.rows)
    missing = {row: _headroom(ledger, row, shape, 1) for row in at.rows.tolist()}
    costs = np.array([_weight(missing[row], shape) for row in at.rows.tolist()], dtype=np.int64)
    extra = cheapest_extra(
        Rooms(at.room, _could_hold(stuck, at), costs, one * 3000, stuck.numbers(at)),
        stuck.shortage.ask.pods,
    )
    if not extra:
        return ()
    nodes = ledger.problem.nodes
    more = tuple(
        (nodes[row].name, _headroom(ledger, row, shape, int(at.room[entry]) + pods))
        for entry, pods in extra.items()
        for row in (int(at.rows[entry]),)
    )
    return (FreeResources(more),)


def _could_hold(stuck: Stuck, at: NodeIndex) -> Ints:
    """Pods that could be on each node if it had the CPU, memory and pod slots.

    Those with GPUs need a node with these GPUs, whoever holds the rest; others can go elsewhere, so
    that no more is asked of a node than it has while nothing of ours is on it.
    """
    if stuck.role.shape.gpu_milli:
        return at.devices
    room, vacant = at.room.copy(), stuck.vacant
    known = at.rows < len(vacant.problem.nodes)
    room[known] = np.maximum(room[known], others_room(vacant, at.rows[known], stuck.role.shape))
    return room


def _headroom(ledger: Ledger, row: int, shape: Shape, pods: int) -> Headroom:
    """What a node lacks to hold this many pods."""
    return Headroom(
        max(0, pods * shape.cpu_millis - int(ledger.cpu[row])),
        max(0, pods * shape.memory_bytes - int(ledger.memory[row])),
        max(0, pods - int(ledger.slots[row])),
        max(0, pods * shape.gpu_memory_bytes - int(ledger.gpu_memory[row])),
        tuple(
            (name, lacking)
            for name, amount in shape.others
            if (lacking := pods * amount - int(ledger.other(name)[row])) > 0
        ),
    )


def _weight(missing: Headroom, shape: Shape) -> int:
    """Headroom in thousandths of what a pod takes."""
    cpu = 1000 * missing.cpu_millis // max(shape.cpu_millis, 1)
    memory = 1000 * missing.memory_bytes // max(shape.memory_bytes, 1)
    gpu_memory = 1000 * missing.gpu_memory_bytes // max(shape.gpu_memory_bytes, 1)
    needs = dict(shape.others)
    others = sum(1000 * amount // needs[name] for name, amount in missing.others)
    return cpu + memory + gpu_memory + others + 1000 * missing.pod_slots


def _reopening(stuck: Stuck) -> Ladder:
    offered, nodes = stuck.offered, stuck.ledger.problem.nodes
    lost = [row for row, node in enumerate(nodes) if not node.usable]
    shut = ~offered.open & ~np.isin(offered.rows, lost)
    closed = offered.eligible & shut & _spot_allowed(stuck, offered)
    return tuple(
        ReopenNodes(stuck.shortage.ask.gpu_type, frozenset(nodes[row].name for row in rows))
        for rows in _least_and_all(stuck, offered, closed)
    )


def _admitting(stuck: Stuck) -> Ladder:
    offered = stuck.offered
    barred = ~offered.eligible & offered.open & _spot_allowed(stuck, offered)
    return tuple(
        AdmitNodes(stuck.role.name, stuck.shortage.ask.gpu_type, sum(1 << row for row in rows))
        for rows in _least_and_all(stuck, offered, barred)
    )


def _spot_allowed(stuck: Stuck, at: NodeIndex) -> Bools:
    return ~at.spot if spot_pods(stuck.view, stuck.role) == 0 else np.ones_like(at.spot)


def _least_and_all(stuck: Stuck, offered: NodeIndex, more: Bools) -> list[set[int]]:
    """Rows that would have room: the fewest that make up for the shortage, then all."""
    useful = np.flatnonzero(more & (offered.room > 0))
    if not len(useful):
        return []
    every = set(offered.rows[useful].tolist())
    largest = useful[np.argsort(-offered.room[useful], kind="stable")]
    missing = stuck.shortage.ask.pods - int(stuck.usable.room.sum())
    enough = int(np.searchsorted(np.cumsum(offered.room[largest]), missing)) + 1
    least = set(offered.rows[largest[:enough]].tolist())
    return [least, every] if least != every else [every]


def _adding(stuck: Stuck) -> Ladder:
    """More nodes like the one that would hold the most pods if nothing of ours ran."""
    ask, here = stuck.shortage.ask, stuck.usable
    mask = (1 << len(stuck.vacant.problem.nodes)) - 1
    known = replace(stuck.role, eligible=stuck.role.eligible & mask)
    empty = node_index(stuck.vacant, known, ask.gpu_type)
    at = empty.usable(spot=spot_pods(stuck.view, stuck.role) > 0)
    numbers = stuck.numbers(here)
    have = np.bincount(numbers, here.room, 1)[stuck.numbers(at)]
    if not at.room.any():
        return ()
    best = int(np.lexsort((at.rows, -have, -at.room))[0])
    count = -(-(ask.pods - int(have[best])) // int(at.room[best]))
    if not 0 < count <= MOST_ADDED_NODES:
        return ()
    like = stuck.vacant.problem.nodes[int(at.rows[best])]
    return (AddNodes(like, stuck.role.name, count),)
