"""The devices that kubelets give to pods, and what a plan can know of them.

A kubelet gives whole devices, or the fullest that has room for a share. A plan knows which pods are
on a node, but not on which devices, and takes them to be packed as if they had come one after the
other. Once a share has left, that may not be so. There the shares that stay are shown to the plan
as what they leave free of each device, and cannot move.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from plimsoll_placement.model import WHOLE_GPU_MILLI, Devices, Job, JobName, Node
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Host, Ints, Placement

MIB = 1 << 20
MOST_PODS = 1_000
"""More than ever come to one node."""


@dataclass(frozen=True, slots=True)
class RunningPod:
    """A pod with its job and its devices."""

    job: Job
    kind: PodKind
    placement: Placement


class Kubelets:
    """The kubelets of a cluster, which is changed."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._number = {host.name: number for number, host in enumerate(cluster.hosts)}
        self._nodes = [_node(host) for host in cluster.hosts]
        self._pods: dict[JobName, RunningPod] = {}
        self._unseen: dict[JobName, RunningPod] = {}
        self._on: dict[int, dict[JobName, RunningPod]] = defaultdict(dict)
        self._left: set[int] = set()
        """The nodes that a share has ever left."""

    def nodes(self) -> tuple[Node, ...]:
        """The nodes as a plan sees them."""
        return tuple(self._nodes)

    def free_to_move(self) -> list[RunningPod]:
        """The pods that a plan sees."""
        return [pod for name, pod in self._pods.items() if name not in self._unseen]

    def unseen_jobs(self) -> list[Job]:
        """The jobs of the others."""
        return [pod.job for pod in self._unseen.values()]

    def start(self, job: Job, pod: PodKind) -> Placement | None:
        """Give a pod devices of the node to which its job was sent; None if there are none."""
        [assignment] = job.running
        [name] = assignment.nodes
        node = self._number[name]
        devices = _devices(self._cluster.free[node], pod)
        if len(devices) < pod.gpus:
            return None
        placement = Placement(node, devices)
        self._cluster.take(pod, placement)
        self._pods[job.name] = self._on[node][job.name] = RunningPod(job, pod, placement)
        return placement

    def stop(self, pod: RunningPod) -> None:
        """Take back what a pod has."""
        node = pod.placement.node
        self._cluster.give_back(pod.kind, pod.placement)
        del self._pods[pod.job.name], self._on[node][pod.job.name]
        if pod.kind.shared:
            self._left.add(node)

    def look_again(self) -> None:
        """Find out on which nodes plans would take other devices to be free than are."""
        self._unseen.clear()
        for node in self._left:
            host, pods = self._cluster.hosts[node], list(self._on[node].values())
            shares = [pod for pod in pods if pod.kind.shared]
            is_as_seen = _seen(host, pods) == sorted(self._cluster.free[node, : host.gpus].tolist())
            self._nodes[node] = _node(host, () if is_as_seen else shares)
            self._unseen.update({} if is_as_seen else {pod.job.name: pod for pod in shares})


def _node(host: Host, beside: Iterable[RunningPod] = ()) -> Node:
    """What pods leave of a node; any share of its devices can be had."""
    free = np.full(host.gpus, WHOLE_GPU_MILLI)
    cpu, memory = host.cpu_millis, host.memory_mib
    for pod in beside:
        free[list(pod.placement.devices)] -= pod.kind.gpu_milli
        cpu, memory = cpu - pod.kind.cpu_millis, memory - pod.kind.memory_mib
    devices = Devices(host.model, tuple(free.tolist()), 1)
    return Node(host.name, (devices,), cpu, memory * MIB, MOST_PODS)


def _seen(host: Host, pods: Iterable[RunningPod]) -> list[int] | None:
    """What a plan takes to be free, by device; None if it would find no room for all pods.

    It takes older pods to have come first, and the largest of one age.
    """
    free = np.full(host.gpus, WHOLE_GPU_MILLI)
    for pod in sorted(pods, key=_came):
        devices = _devices(free, pod.kind)
        if len(devices) < pod.kind.gpus:
            return None
        free[list(devices)] -= pod.kind.gpu_milli
    return sorted(free.tolist())


def _came(pod: RunningPod) -> tuple[int, int, str]:
    return pod.job.sequence, -pod.kind.total_gpu_milli, pod.job.name


def _devices(free: Ints, pod: PodKind) -> tuple[int, ...]:
    """Whole devices, or the fullest that has room for a share; too few if there are none."""
    if not pod.shared:
        return tuple(np.flatnonzero(free == WHOLE_GPU_MILLI)[: pod.gpus].tolist())
    fullest = int(np.where(free >= pod.gpu_milli, free, WHOLE_GPU_MILLI + 1).argmin())
    return (fullest,) if free[fullest] >= pod.gpu_milli else ()
