"""How much of a node's idle GPUs typical pods cannot use (FGD, USENIX ATC'23, section 3).

For one kind of pod, everything idle on a node is a fragment if the kind needs no GPU or does not
fit there by GPU type, CPU or number of devices; otherwise what is idle on devices with too little
for it. A node's fragmentation is the mean over typical kinds, weighted by frequency. Memory is
ignored.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from plimsoll_placement.model import WHOLE_GPU_MILLI, GpuType
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Ints, States

TYPICAL_PERCENT = 95


def typical_counts(pods: Iterable[PodKind]) -> dict[PodKind, int]:
    """The kinds (memory aside) that make up 95 % of the pods, most frequent first, with counts.

    Of equally frequent ones the larger goes first: by CPU, share, devices, then models.
    """
    counts = Counter(replace(pod, memory_mib=0) for pod in pods)
    wanted = TYPICAL_PERCENT * counts.total()
    typical: dict[PodKind, int] = {}
    covered = 0
    for pod, count in sorted(counts.items(), key=_frequency, reverse=True):
        if covered * 100 >= wanted:
            break
        typical[pod] = count
        covered += count
    return typical


def _frequency(counted: tuple[PodKind, int]) -> tuple[int, int, int, int, str]:
    pod, count = counted
    return count, pod.cpu_millis, pod.gpu_milli, pod.gpus, "|".join(sorted(pod.models))


class Fragmentation:
    """The fragmentation of node states, times the number of typical pods to stay exact.

    What typical pods can use of a device depends on the node's GPU type and CPU and on the device
    alone, except for kinds with several devices, where the number of whole ones counts. Both are
    looked up in tables, by GPU type, step of CPU and idle milli-GPUs or number of whole devices.
    """

    def __init__(self, typical: Mapping[PodKind, int], cluster: Cluster) -> None:
        models, devices = cluster.models, cluster.free.shape[1]
        self._model = cluster.model
        self.pods = sum(typical.values())
        kinds = [pod for pod in typical if pod.gpus]
        self._cpu_steps = np.array(sorted({pod.cpu_millis for pod in kinds}), dtype=np.int64)
        shape = (len(models), len(self._cpu_steps) + 1)
        self._usable = np.zeros((*shape, WHOLE_GPU_MILLI + 1), dtype=np.int64)
        self._usable_together = np.zeros((*shape, devices + 1), dtype=np.int64)
        for pod in kinds:
            self._count(pod, typical[pod], models)

    def _count(self, pod: PodKind, count: int, models: Sequence[GpuType]) -> None:
        accepted = [number for number, model in enumerate(models) if pod.accepts(model)]
        step = int(np.searchsorted(self._cpu_steps, pod.cpu_millis)) + 1
        if pod.gpus == 1:
            self._usable[accepted, step:, pod.gpu_milli :] += count
        else:
            self._usable_together[accepted, step:, pod.gpus :] += count

    def times_pods(self, states: States) -> Ints:
        """The fragmentation of each state in milli-GPUs, times `pods`."""
        step = np.searchsorted(self._cpu_steps, states.cpu, side="right")
        model = self._model[states.node]
        by_device = self._usable[model[:, None], step[:, None], states.free]
        whole = (states.free == WHOLE_GPU_MILLI).sum(axis=1)
        together = self._usable_together[model, step, whole] * whole * WHOLE_GPU_MILLI
        return (
            self.pods * states.free.sum(axis=1) - (states.free * by_device).sum(axis=1) - together
        )
