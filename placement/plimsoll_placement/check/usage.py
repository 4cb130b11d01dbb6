"""What the pods of placements take from each node."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from plimsoll_placement.check.placed import PlacedJob
from plimsoll_placement.model import GpuType, NodeName, Shape

Pod = tuple[Shape, GpuType]


@dataclass(slots=True)
class NodeUsage:
    """What the pods on one node take; `requested_millis` has one entry per pod, by GPU type.

    `draw_milli` is their draw, in milli-GPUs in typical use. `gpu_memory_bytes` is what those with
    parts of GPUs are known to hold, `most_gpu_memory_bytes` the most of any.
    """

    cpu_millis: int = 0
    memory_bytes: int = 0
    pods: int = 0
    draw_milli: int = 0
    gpu_memory_bytes: int = 0
    most_gpu_memory_bytes: int = 0
    requested_millis: dict[GpuType, list[int]] = field(default_factory=dict[GpuType, list[int]])
    others: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, shape: Shape, gpu_type: GpuType) -> None:
        """Count one pod."""
        self.cpu_millis += shape.cpu_millis
        self.memory_bytes += shape.memory_bytes
        self.pods += 1
        self.draw_milli += shape.draw_milli
        self.gpu_memory_bytes += shape.gpu_memory_bytes
        self.most_gpu_memory_bytes = max(self.most_gpu_memory_bytes, shape.gpu_memory_bytes)
        for name, amount in shape.others:
            self.others[name] = self.others.get(name, 0) + amount
        if shape.gpu_milli:
            self.requested_millis.setdefault(gpu_type, []).append(shape.gpu_milli)


def usage_of(pods: Iterable[Pod]) -> NodeUsage:
    """What pods on one node take together."""
    usage = NodeUsage()
    for shape, gpu_type in pods:
        usage.add(shape, gpu_type)
    return usage


def pods_by_node(job: PlacedJob) -> dict[NodeName, list[Pod]]:
    """The pods of a job on each node."""
    found: defaultdict[NodeName, list[Pod]] = defaultdict(list)
    for replica in job.replicas:
        pod = replica.role.shape, replica.assignment.gpu_type
        for node in replica.nodes:
            found[node.name].append(pod)
    return found


def milli_by_type(job: PlacedJob) -> dict[GpuType, int]:
    """The milli-GPUs of each type that a job asks for."""
    usage: defaultdict[GpuType, int] = defaultdict(int)
    for replica in job.replicas:
        requested = replica.role.shape.gpu_milli * len(replica.nodes)
        usage[replica.assignment.gpu_type] += requested
    return usage
