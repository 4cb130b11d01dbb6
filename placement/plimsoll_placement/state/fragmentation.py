"""What the pods to come can use of nodes, to choose the node that leaves most to them.

The pods to come are assumed to be like those that came: the jobs of the problem and those before
them (`Problem.past`). What they can use of a node is learned as for pods that come one by one
(`prospects.py`): idle GPUs without CPU or memory are worth little, and so is a part of a device
that only rare pods are small enough for. A GPU type that pods are bound to has a price for others
(`scarcity.py`). All this decides only between nodes of equal price.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from functools import cached_property

import numpy as np

from plimsoll_placement.model import (
    WHOLE_GPU_MILLI,
    Arrival,
    GpuType,
    Job,
    JobName,
    Node,
    Role,
    Shape,
)
from plimsoll_placement.problem import Problem
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.device_pool import DevicePool, Ints
from plimsoll_placement.state.node_arrays import Floats, States
from plimsoll_placement.state.prospects import Prospects
from plimsoll_placement.state.scarcity import scarcity_prices
from plimsoll_placement.state.yardstick import yardstick

MIB = 1 << 20


class Fragmentation:
    """What the pods to come can use of nodes, by GPU type; learned when first asked for."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._prospects: dict[GpuType, Prospects] = {}
        self._prices: dict[GpuType, float] = {}

    def price(self, gpu_type: GpuType, pools: Mapping[GpuType, tuple[DevicePool, ...]]) -> float:
        """What it costs those bound to a type that one milli-GPU of it is taken, in milli-GPUs.

        By what is idle in the pools when this is first asked for.
        """
        if not self._prices:
            idle = {kind: sum(int(each.milli.sum()) for each in of) for kind, of in pools.items()}
            self._prices = scarcity_prices(self._came, idle)
        return self._prices[gpu_type]

    def losses(self, device_pool: DevicePool, nodes: States, shape: Shape, pods: int) -> Floats:
        """What others can no longer use of each node once it has this many pods, in milli-GPUs.

        The pods must fit. `nodes` is their present state, by the devices of the pool, with memory
        in MiB.
        """
        worth = self._of(device_pool.gpu_type).worth
        after = States(
            nodes.node,
            np.maximum(nodes.cpu - pods * shape.cpu_millis, 0),
            np.maximum(nodes.memory - pods * shape.memory_bytes // MIB, 0),
            _without(nodes.free, device_pool.granted_milli(shape.gpu_milli) or 0, pods),
        )
        return worth(nodes) - worth(after)

    @cached_property
    def _came(self) -> tuple[Arrival, ...]:
        """All pods that came, past and present."""
        memory = self._problem.memory
        present = _Present() if memory is None else memory.part(_Present)
        return *self._problem.past, *present.of(self._problem.jobs)

    def _of(self, gpu_type: GpuType) -> Prospects:
        known = self._prospects.get(gpu_type)
        if known is None:
            known = self._prospects[gpu_type] = self._learned(gpu_type)
        return known

    def _learned(self, gpu_type: GpuType) -> Prospects:
        came: Counter[PodKind] = Counter()
        for arrival in self._came:
            if gpu_type in arrival.gpu_types:
                came[_kind(arrival.shape)] += arrival.pods
        memory = self._problem.memory
        there = _There() if memory is None else memory.part(_There)
        cpu, bytes_ = there.of(self._problem.nodes).get(gpu_type, (0, 0))
        return Prospects(came, yardstick(came, cpu_millis=cpu, memory_mib=bytes_ // MIB))


class _There:
    """The CPU and memory of the nodes with each GPU type, for the nodes last asked for."""

    def __init__(self) -> None:
        self._nodes: tuple[Node, ...] | None = None
        self._found: dict[GpuType, tuple[int, int]] = {}

    def of(self, nodes: tuple[Node, ...]) -> Mapping[GpuType, tuple[int, int]]:
        """By GPU type: millicores and bytes."""
        if nodes is not self._nodes:
            found: dict[GpuType, tuple[int, int]] = {}
            for node in nodes:
                for kind in {devices.gpu_type for devices in node.devices}:
                    cpu, memory = found.get(kind, (0, 0))
                    found[kind] = cpu + node.cpu_millis, memory + node.memory_bytes
            self._nodes, self._found = nodes, found
        return self._found


class _Present:
    """The pods that jobs came with, counted from one problem to the next."""

    def __init__(self) -> None:
        self._jobs: dict[JobName, Job] = {}
        self._pods: Counter[_Came] = Counter()

    def of(self, jobs: Iterable[Job]) -> tuple[Arrival, ...]:
        """What these jobs came with, in an order that does not depend on those before."""
        now = {job.name: job for job in jobs}
        for name, job in self._jobs.items():
            if now.get(name) is not job:
                self._count(job, -1)
        for name, job in now.items():
            if self._jobs.get(name) is not job:
                self._count(job, 1)
        self._jobs = now
        came = sorted((each for each in self._pods.items() if each[1]), key=_by_size)
        return tuple(Arrival(shape, types, pods) for (shape, types), pods in came)

    def _count(self, job: Job, times: int) -> None:
        for role in job.roles:
            if role.shape.gpu_milli:
                self._pods[_came(role)] += times * _pods(role)


def arrivals(roles: Iterable[Role]) -> tuple[Arrival, ...]:
    """The pods that roles came with, each at its least size; like ones form one arrival."""
    came: Counter[_Came] = Counter()
    for role in roles:
        came[_came(role)] += _pods(role)
    return tuple(Arrival(shape, types, pods) for (shape, types), pods in came.items())


_Came = tuple[Shape, frozenset[GpuType]]


def _came(role: Role) -> _Came:
    return role.shape, frozenset(role.yields)


def _pods(role: Role) -> int:
    return max(role.least, 1) * role.pods_per_replica


def _by_size(entry: tuple[_Came, int]) -> tuple[object, ...]:
    shape, types = entry[0]
    return *astuple(shape), *sorted(types)


def _kind(shape: Shape) -> PodKind:
    whole, milli = divmod(shape.gpu_milli, WHOLE_GPU_MILLI)
    memory = shape.memory_bytes // MIB
    if whole:
        return PodKind(shape.cpu_millis, memory, whole, WHOLE_GPU_MILLI)
    return PodKind(shape.cpu_millis, memory, min(milli, 1), milli)


def _without(free: Ints, granted_milli: int, pods: int) -> Ints:
    """The devices of nodes after this many pods, fractions each on the fullest that has room."""
    if granted_milli >= WHOLE_GPU_MILLI:
        whole = free == WHOLE_GPU_MILLI
        return np.where(whole & (whole.cumsum(axis=1) <= pods * granted_milli // 1000), 0, free)
    if not granted_milli:
        return free
    after, rows = free.copy(), np.arange(len(free))
    for _ in range(pods):
        fullest = np.where(after >= granted_milli, after, WHOLE_GPU_MILLI + 1).argmin(axis=1)
        after[rows, fullest] -= granted_milli
    return np.maximum(after, 0)
