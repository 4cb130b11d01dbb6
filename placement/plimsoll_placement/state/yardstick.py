"""Which of CPU and memory runs out first, as that is what idle GPUs come to lack."""

from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Ints, States

CPU_STEP_MILLIS = 1000


@dataclass(frozen=True, slots=True)
class Yardstick:
    """One of the two, in steps: one CPU, or as much memory as a cluster has per CPU."""

    step: int = CPU_STEP_MILLIS
    is_memory: bool = False

    def steps_for_each_gpu(self, pod: PodKind) -> int:
        """The steps that a pod with GPUs takes for each of them, rounded up."""
        requested = pod.memory_mib if self.is_memory else pod.cpu_millis
        return -(-requested // (pod.gpus * self.step))

    def free(self, states: States) -> Ints:
        """What is free of it in each state, not in steps."""
        return states.memory if self.is_memory else states.cpu


def yardstick(arrivals: Mapping[PodKind, int], *, cpu_millis: int, memory_mib: int) -> Yardstick:
    """Whichever of the two these arrivals ask for the larger part of, relative to the cluster."""
    cpu, memory = max(1, cpu_millis), max(1, memory_mib)
    requested_cpu = sum(pod.cpu_millis * count for pod, count in arrivals.items())
    requested_memory = sum(pod.memory_mib * count for pod, count in arrivals.items())
    if requested_memory * cpu <= requested_cpu * memory:
        return Yardstick()
    return Yardstick(max(1, memory * CPU_STEP_MILLIS // cpu), is_memory=True)
