"""What is free on every node while pods come one by one, as arrays.

A cluster answers where a pod fits, takes what a pod is given and gives it back. It records which
nodes changed, so that figures kept by node need not be recomputed for the others. Which place is
better than another is not its concern.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.model import WHOLE_GPU_MILLI, GpuType, NodeName
from plimsoll_placement.state.arrivals import PodKind

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Host:
    """A node with all it has; all its GPUs are of one type."""

    name: NodeName
    model: GpuType
    cpu_millis: int
    memory_mib: int
    gpus: int


@dataclass(frozen=True, slots=True)
class Placement:
    """A place for one pod: the node by its number and the devices on it."""

    node: int
    devices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class States:
    """Nodes as they are or could be: one entry or row of each array per state."""

    node: Ints
    cpu: Ints
    memory: Ints
    free: Ints


class Cluster:
    """The free CPU, memory and device shares of nodes, which are numbered as given.

    `free` is by node and device in milli-GPUs, 0 where a node has fewer devices than the widest.
    `changes` names a node once each time it took or gave something back. Nodes with equal
    `likeness` are in the same state: they were alike, and nothing was ever taken of them.
    """

    def __init__(self, hosts: Sequence[Host]) -> None:
        self.hosts = tuple(hosts)
        self.models: tuple[GpuType, ...] = tuple(sorted({host.model for host in hosts}))
        self.model = np.array([self.models.index(host.model) for host in hosts], dtype=np.int64)
        self.cpu = np.array([host.cpu_millis for host in hosts], dtype=np.int64)
        self.memory = np.array([host.memory_mib for host in hosts], dtype=np.int64)
        self.gpus = np.array([host.gpus for host in hosts], dtype=np.int64)
        devices = np.arange(max((host.gpus for host in hosts), default=0))
        self.free: Ints = np.where(devices < self.gpus[:, None], WHOLE_GPU_MILLI, 0)
        made = [(host.model, host.cpu_millis, host.memory_mib, host.gpus) for host in hosts]
        first = {make: number for number, make in reversed(list(enumerate(made)))}
        self.likeness = np.array([first[make] for make in made], dtype=np.int64)
        self.changes: list[int] = []
        self.used_milli = 0

    def __len__(self) -> int:
        return len(self.hosts)

    @property
    def capacity_milli(self) -> int:
        """All milli-GPUs, free or not."""
        return int(self.gpus.sum()) * WHOLE_GPU_MILLI

    def accepted(self, pod: PodKind) -> Bools:
        """Whether the pod may run on each model of `models`."""
        return np.array([pod.accepts(model) for model in self.models], dtype=np.bool_)

    def fits(self, pod: PodKind, nodes: Ints) -> Bools:
        """Whether the pod fits on each of these nodes as they are now."""
        enough = (self.cpu[nodes] >= pod.cpu_millis) & (self.memory[nodes] >= pod.memory_mib)
        if not pod.gpus:
            return enough
        if pod.models:
            enough &= self.accepted(pod)[self.model[nodes]]
        return enough & ((self.free[nodes] >= pod.gpu_milli).sum(axis=1) >= pod.gpus)

    def whole_devices(self, node: int, gpus: int) -> tuple[int, ...]:
        """The first unused devices of a node, as many as asked for."""
        whole = np.flatnonzero(self.free[node] == WHOLE_GPU_MILLI)[:gpus]
        return tuple(int(device) for device in whole)

    def take(self, pod: PodKind, placement: Placement) -> None:
        """Give the pod what it asks for at its place, where it must fit."""
        self._add(pod, placement, -1)

    def give_back(self, pod: PodKind, placement: Placement) -> None:
        """Free what the pod held at its place."""
        self._add(pod, placement, 1)

    def _add(self, pod: PodKind, placement: Placement, sign: int) -> None:
        self.cpu[placement.node] += sign * pod.cpu_millis
        self.memory[placement.node] += sign * pod.memory_mib
        for device in placement.devices:
            self.free[placement.node, device] += sign * pod.gpu_milli
        self.used_milli -= sign * pod.gpu_milli * len(placement.devices)
        self.likeness[placement.node] = len(self) + placement.node
        self.changes.append(placement.node)
