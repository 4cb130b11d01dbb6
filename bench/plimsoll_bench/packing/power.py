"""What nodes draw by what is in use on them, and packing that keeps the draw low.

A GPU draws its idle or its busy watts, busy with any share in use. A CPU package draws its full
watts as soon as one of its cores is busy. Two virtual CPUs are one core.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plimsoll_bench.packing.lookahead import Lookahead
from plimsoll_bench.packing.outcomes import states_now
from plimsoll_placement.model import WHOLE_GPU_MILLI, GpuType
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Floats, Ints, Placement, States

MILLIS_A_CORE = 2000
GPU_MILLI_A_WATT = 5
"""What a watt saved is worth: switching on a GPU that draws 120 W more costs 0.6 GPUs."""
SHARED_LATER = 0.9
"""The share of a package's draw that each of its cores pays for; the rest falls to the first."""
NAMED_GPU_MILLI = 600
"""Like `scarcity.NAMED_GPU_MILLI`, but set against the watts that cheap types save."""


@dataclass(frozen=True, slots=True)
class Consumption:
    """The watts of one GPU and of one CPU package of a kind of node, and the package's cores."""

    gpu_idle: int
    gpu_busy: int
    package_idle: int
    package_full: int
    package_cores: int


class PowerMeter:
    """The draw of states of the nodes of one cluster."""

    def __init__(self, cluster: Cluster, by_model: Mapping[GpuType, Consumption]) -> None:
        kinds = [by_model[host.model] for host in cluster.hosts]
        self._gpus = cluster.gpus
        self._gpu_idle = np.array([kind.gpu_idle for kind in kinds])
        self._gpu_busy = np.array([kind.gpu_busy for kind in kinds])
        self._package_idle = np.array([kind.package_idle for kind in kinds])
        self._package_full = np.array([kind.package_full for kind in kinds])
        self._package_cores = np.array([kind.package_cores for kind in kinds])
        self._cores = -(-np.array([host.cpu_millis for host in cluster.hosts]) // MILLIS_A_CORE)
        self._packages = -(-self._cores // self._package_cores)

    def watts(self, states: States) -> Ints:
        """What each state draws."""
        node = states.node
        busy = self._busy_packages(states)
        idle = self._packages[node] - busy
        packages = busy * self._package_full[node] + idle * self._package_idle[node]
        return self._gpu_watts(states) + packages

    def foreseen_watts(self, states: States) -> Floats:
        """The same, but a package is mostly paid for per core, since others will use the rest."""
        node = states.node
        cores = self._cores[node] - states.cpu / MILLIS_A_CORE
        packages = SHARED_LATER * cores / self._package_cores[node]
        packages += (1 - SHARED_LATER) * self._busy_packages(states)
        return self._gpu_watts(states) + packages * (
            self._package_full[node] - self._package_idle[node]
        )

    def _busy_packages(self, states: States) -> Ints:
        cores = self._cores[states.node] - states.cpu // MILLIS_A_CORE
        return -(-cores // self._package_cores[states.node])

    def _gpu_watts(self, states: States) -> Ints:
        node = states.node
        idle = (states.free == WHOLE_GPU_MILLI).sum(axis=1)
        return idle * self._gpu_idle[node] + (self._gpus[node] - idle) * self._gpu_busy[node]


def frugal(cluster: Cluster, meter: PowerMeter) -> Lookahead:
    """The look-ahead policy that also weighs what a placement draws."""

    def cost(states: States) -> Floats:
        return GPU_MILLI_A_WATT * meter.foreseen_watts(states)

    return Lookahead(cluster, cost, named_gpu_milli=NAMED_GPU_MILLI)


def watts_over_time(
    cluster: Cluster,
    meter: PowerMeter,
    pods: Iterable[PodKind],
    placements: Sequence[Placement | None],
) -> Ints:
    """What an unused cluster, which is changed, draws after each of these arrivals is placed."""
    now = int(meter.watts(states_now(cluster, np.arange(len(cluster)))).sum())
    watts: list[int] = []
    for pod, placement in zip(pods, placements, strict=True):
        if placement is not None:
            node = np.array([placement.node])
            now -= int(meter.watts(states_now(cluster, node))[0])
            cluster.take(pod, placement)
            now += int(meter.watts(states_now(cluster, node))[0])
        watts.append(now)
    return np.array(watts)
