"""What one more pod would make of nodes, for each device that could serve it.

Turns a policy's value of a node's state into scores: the gain of a place is the value of the node
with the pod less its value without.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plimsoll_bench.packing.scoreboard import Scores
from plimsoll_placement.model import WHOLE_GPU_MILLI
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Bools, Cluster, Floats, Ints, States

Value = Callable[[States], NDArray[np.float64 | np.int64]]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The states to compare: first those with the pod, then the nodes as they are.

    The states with the pod belong to (`row`, `device`), the node by its position among those given.
    Of equally free devices of a node only the first is there; a pod that takes no share of a device
    has just one state per node, at device 0.
    """

    nodes: int
    devices: int
    row: Ints
    device: Ints
    states: States

    def gains(self, value: Value) -> Floats:
        """By node and device, what the pod would add to the value; -inf if it cannot come."""
        values = value(self.states)
        gains = np.full((self.nodes, self.devices), -np.inf)
        before = values[len(self.row) :]
        gains[self.row, self.device] = values[: len(self.row)] - before[self.row]
        return gains


def best_of_each(by_device: Floats) -> Scores:
    """The best entry of each row, and the first device with it."""
    device = by_device.argmax(axis=1)
    return Scores(by_device[np.arange(len(by_device)), device], device)


def states_now(cluster: Cluster, nodes: Ints) -> States:
    """These nodes as they are."""
    return States(nodes, cluster.cpu[nodes], cluster.memory[nodes], cluster.free[nodes])


def outcomes(cluster: Cluster, nodes: Ints, pod: PodKind) -> Outcomes:
    """What becomes of these nodes, on each of which the pod must fit."""
    free = cluster.free[nodes]
    if pod.shared:
        row, device = np.nonzero((free >= pod.gpu_milli) & _first_of_equals(free))
        after = free[row]
        after[np.arange(len(row)), device] -= pod.gpu_milli
    else:
        row, device = np.arange(len(nodes)), np.zeros(len(nodes), dtype=np.int64)
        after = _with_devices_taken(free, pod.gpus)
    cpu, memory = cluster.cpu[nodes], cluster.memory[nodes]
    states = States(
        np.concatenate((nodes[row], nodes)),
        np.concatenate((cpu[row] - pod.cpu_millis, cpu)),
        np.concatenate((memory[row] - pod.memory_mib, memory)),
        np.concatenate((after, free)),
    )
    devices = len(free.T) if pod.shared else 1
    return Outcomes(len(nodes), devices, row, device, states)


def _first_of_equals(free: Ints) -> Bools:
    """Whether no earlier device of the same node is exactly as free."""
    equal = free[:, :, None] == free[:, None, :]
    return equal.argmax(axis=2) == np.arange(len(free.T))


def _with_devices_taken(free: Ints, gpus: int) -> Ints:
    """One row per node, without the first of its whole devices."""
    if not gpus:
        return free
    whole = free == WHOLE_GPU_MILLI
    return np.where(whole & (whole.cumsum(axis=1) <= gpus), 0, free)
