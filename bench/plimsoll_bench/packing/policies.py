"""The policies that the benchmark packs with: Plimsoll's, and published ones reimplemented.

BestFit, DotProd, GpuPacking and Random as FGD's authors ran them beside it (Weng et al., USENIX
ATC'23), and PWR+FGD (weights 100 and 900), which also considers power. Of equally good nodes the
first is taken; a share goes to the fullest device that has room.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from plimsoll_bench.packing.fgd import FragmentationGradientDescent
from plimsoll_bench.packing.fragmentation import Fragmentation, typical_counts
from plimsoll_bench.packing.lookahead import Lookahead
from plimsoll_bench.packing.outcomes import best_of_each, outcomes
from plimsoll_bench.packing.power import PowerMeter, frugal
from plimsoll_bench.packing.replay import Policy
from plimsoll_bench.packing.scoreboard import Scoreboard, Scores
from plimsoll_bench.packing.watts import meter_of
from plimsoll_placement.model import WHOLE_GPU_MILLI
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Floats, Ints, Placement

MOST_CPU_MILLIS, MOST_GPU_MILLI = 128_000, 8 * WHOLE_GPU_MILLI
POWER_WEIGHT, FRAGMENTATION_WEIGHT = 100, 900


@dataclass(frozen=True, slots=True)
class Scene:
    """What a policy may know: the cluster, the list that pods are drawn from, and randomness."""

    cluster: Cluster
    known: Sequence[PodKind]
    random: Random


ScoreNodes = Callable[[Cluster, PodKind, Ints], Scores]


class Scored:
    """A policy that is nothing but a score of nodes."""

    def __init__(self, cluster: Cluster, score: ScoreNodes) -> None:
        self._board = Scoreboard(cluster, lambda pod, nodes: score(cluster, pod, nodes))

    def place(self, pod: PodKind) -> Placement | None:
        """Where the pod goes; None if it fits nowhere."""
        return self._board.best(pod)


class AnyNode:
    """A random node on which the pod fits, and a random device."""

    def __init__(self, cluster: Cluster, random: Random) -> None:
        self._cluster = cluster
        self._random = random

    def place(self, pod: PodKind) -> Placement | None:
        """Where the pod goes; None if it fits nowhere."""
        nodes = np.flatnonzero(self._cluster.fits(pod, np.arange(len(self._cluster))))
        if not len(nodes):
            return None
        node = int(self._random.choice(nodes))
        if not pod.shared:
            return Placement(node, self._cluster.whole_devices(node, pod.gpus))
        devices = np.flatnonzero(self._cluster.free[node] >= pod.gpu_milli)
        return Placement(node, (int(self._random.choice(devices)),))


class PowerAndFragmentation:
    """PWR+FGD: nodes by the watts that the pod adds and, weighted ninefold, by fragmentation."""

    def __init__(self, cluster: Cluster, typical: Mapping[PodKind, int], meter: PowerMeter) -> None:
        self._cluster = cluster
        self._meter = meter
        self._fragmentation = Fragmentation(typical, cluster)

    def place(self, pod: PodKind) -> Placement | None:
        """Where the pod goes; None if it fits nowhere."""
        nodes = np.flatnonzero(self._cluster.fits(pod, np.arange(len(self._cluster))))
        if not len(nodes):
            return None
        reached = outcomes(self._cluster, nodes, pod)
        scores = best_of_each(
            self._fragmentation_score(reached.gains(self._fragmentation.times_pods))
        )
        added = reached.gains(self._meter.watts)
        least_added = np.where(added > -np.inf, added, np.inf).min(axis=1)
        total = POWER_WEIGHT * _spread(-least_added) + FRAGMENTATION_WEIGHT * scores.value
        best = int(total.argmax())
        devices = (int(scores.device[best]),) if pod.shared else None
        node = int(nodes[best])
        return Placement(node, devices or self._cluster.whole_devices(node, pod.gpus))

    def _fragmentation_score(self, growth: Floats) -> Floats:
        gpus_less = -growth / (self._fragmentation.pods * WHOLE_GPU_MILLI)
        coarse = np.floor(100 / (1 + np.exp(-gpus_less)))
        return np.where(growth > -np.inf, coarse, -np.inf)


def _spread(scores: Floats) -> Floats:
    """Scores shifted and scaled to 0..100, as whole numbers; all 100 if they are equal."""
    least, most = scores.min(), scores.max()
    if least == most:
        return np.full(len(scores), 100.0)
    return np.floor((scores - least) * 100 / (most - least))


def best_fit(cluster: Cluster, pod: PodKind, nodes: Ints) -> Scores:
    """Least CPU and GPU left, each as a share of the most that any node has."""
    cpu = (cluster.cpu[nodes] - pod.cpu_millis) / MOST_CPU_MILLIS
    gpu = (cluster.free[nodes].sum(axis=1) - pod.total_gpu_milli) / MOST_GPU_MILLI
    left = cpu * 0.5 + gpu * 0.5
    return Scores(np.floor((1.0 - left) * 100), _fullest_device(cluster, pod, nodes))


def gpu_packing(cluster: Cluster, pod: PodKind, nodes: Ints) -> Scores:
    """Devices in use first, the fullest best; then whole ones of nodes in use; then other nodes."""
    device = _fullest_device(cluster, pod, nodes)
    if not pod.gpus:
        return Scores(np.zeros(len(nodes)), device)
    free = cluster.free[nodes]
    whole = (free == WHOLE_GPU_MILLI).sum(axis=1)
    left = free[np.arange(len(nodes)), device] if pod.shared else np.full(len(nodes), 1000)
    unused_node = np.maximum(33 - whole, whole)
    whole_device = max(50 - pod.gpus, 33)
    device_in_use = np.maximum(100 - left * 100 // 1000 // 10, 50)
    in_use = np.where(left == WHOLE_GPU_MILLI, whole_device, device_in_use)
    score = np.where(whole == cluster.gpus[nodes], unused_node, in_use)
    return Scores(score.astype(np.float64), device)


def dot_product(cluster: Cluster, pod: PodKind, nodes: Ints) -> Scores:
    """The least product of what is asked for and what is free, CPU and GPU added."""
    cpu = cluster.cpu[nodes] * pod.cpu_millis / MOST_CPU_MILLIS**2
    gpu = cluster.free[nodes].sum(axis=1) * pod.total_gpu_milli / MOST_GPU_MILLI**2
    return Scores(np.floor((1 - (cpu + gpu) / 2) * 100), _fullest_device(cluster, pod, nodes))


def _fullest_device(cluster: Cluster, pod: PodKind, nodes: Ints) -> Ints:
    free = cluster.free[nodes]
    return np.where(free >= max(pod.gpu_milli, 1), free, WHOLE_GPU_MILLI + 1).argmin(axis=1)


def frugal_policy(scene: Scene) -> Policy:
    """Plimsoll's own policy where power counts."""
    return frugal(scene.cluster, meter_of(scene.cluster))


def _fgd(scene: Scene) -> Policy:
    return FragmentationGradientDescent(scene.cluster, typical_counts(scene.known))


def _power_and_fragmentation(scene: Scene) -> Policy:
    typical = typical_counts(scene.known)
    return PowerAndFragmentation(scene.cluster, typical, meter_of(scene.cluster))


POLICIES: dict[str, Callable[[Scene], Policy]] = {
    "plimsoll": lambda scene: Lookahead(scene.cluster),
    "fgd": _fgd,
    "bestfit": lambda scene: Scored(scene.cluster, best_fit),
    "dotprod": lambda scene: Scored(scene.cluster, dot_product),
    "gpupacking": lambda scene: Scored(scene.cluster, gpu_packing),
    "random": lambda scene: AnyNode(scene.cluster, scene.random),
    "pwr-fgd": _power_and_fragmentation,
}
