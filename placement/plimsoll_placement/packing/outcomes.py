"""The states that nodes would be in with one pod more, for each device that could serve it."""

from dataclasses import dataclass

import numpy as np

from plimsoll_placement.packing.cluster import Bools, Cluster, Ints
from plimsoll_placement.packing.pods import PodKind
from plimsoll_placement.packing.scoreboard import Floats, Scores
from plimsoll_placement.problem import WHOLE_GPU_MILLI


@dataclass(frozen=True, slots=True)
class States:
    """Nodes as they are or could be: one entry or row of each array a state."""

    model: Ints
    cpu: Ints
    memory: Ints
    free: Ints


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What becomes of `nodes` if a pod is seated there.

    `states` has for each node one state a device where the pod shares one (`possible` says which
    of them are real), else just one.
    """

    nodes: Ints
    states: States
    possible: Bools

    def best(self, value: Floats) -> Scores:
        """Of each node the highest value of a possible state, and its first device with that."""
        by_device = np.where(self.possible, value.reshape(self.possible.shape), -np.inf)
        device = by_device.argmax(axis=1)
        return Scores(by_device[np.arange(len(self.nodes)), device], device)


def states_now(cluster: Cluster, nodes: Ints) -> States:
    """These nodes as they are."""
    return States(
        cluster.model[nodes], cluster.cpu[nodes], cluster.memory[nodes], cluster.free[nodes]
    )


def outcomes(cluster: Cluster, nodes: Ints, pod: PodKind) -> Outcomes:
    """These nodes, on each of which the pod must fit, with the pod."""
    free = cluster.free[nodes]
    if pod.shared:
        possible = free >= pod.gpu_milli
        after = _with_share_taken(free, pod.gpu_milli)
    else:
        possible = np.ones((len(nodes), 1), dtype=np.bool_)
        after = _with_devices_taken(free, pod.gpus)
    copies = possible.shape[1]
    states = States(
        np.repeat(cluster.model[nodes], copies),
        np.repeat(cluster.cpu[nodes] - pod.cpu_millis, copies),
        np.repeat(cluster.memory[nodes] - pod.memory_mib, copies),
        after,
    )
    return Outcomes(nodes, states, possible)


def _with_share_taken(free: Ints, gpu_milli: int) -> Ints:
    """For each node and device one row, with the share taken there (below 0 if impossible)."""
    count, devices = free.shape
    after = np.repeat(free[:, None, :], devices, axis=1)
    every = np.arange(len(free.T))
    after[:, every, every] -= gpu_milli
    return np.maximum(after, 0).reshape(count * devices, devices)


def _with_devices_taken(free: Ints, gpus: int) -> Ints:
    """For each node one row, without the first of its whole devices."""
    if not gpus:
        return free
    whole = free == WHOLE_GPU_MILLI
    return np.where(whole & (whole.cumsum(axis=1) <= gpus), 0, free)
