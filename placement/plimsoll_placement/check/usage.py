"""What placements take from each node, each queue and each power domain."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from plimsoll_placement.check.placed import PlacedJob
from plimsoll_placement.model import DomainName, GpuType, Node, NodeName, QueueName, Shape
from plimsoll_placement.problem import Problem


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

    def add(self, shape: Shape, gpu_type: GpuType) -> None:
        """Count one pod."""
        self.cpu_millis += shape.cpu_millis
        self.memory_bytes += shape.memory_bytes
        self.pods += 1
        self.draw_milli += shape.draw_milli
        self.gpu_memory_bytes += shape.gpu_memory_bytes
        self.most_gpu_memory_bytes = max(self.most_gpu_memory_bytes, shape.gpu_memory_bytes)
        if shape.gpu_milli:
            self.requested_millis.setdefault(gpu_type, []).append(shape.gpu_milli)


def usage_by_node(placed: Iterable[PlacedJob]) -> dict[NodeName, NodeUsage]:
    """What the pods take of each node that has any."""
    usage: defaultdict[NodeName, NodeUsage] = defaultdict(NodeUsage)
    for job in placed:
        for replica in job.replicas:
            for node in replica.nodes:
                usage[node.name].add(replica.role.shape, replica.assignment.gpu_type)
    return dict(usage)


def usage_by_queue(
    problem: Problem, placed: Iterable[PlacedJob]
) -> dict[tuple[QueueName, GpuType], int]:
    """The milli-GPUs of each type that each queue, with its descendants, asks for."""
    usage: defaultdict[tuple[QueueName, GpuType], int] = defaultdict(int)
    for job in placed:
        for replica in job.replicas:
            requested = replica.role.shape.gpu_milli * len(replica.nodes)
            for queue in problem.queue_chain.get(job.job.queue, ()):
                usage[queue, replica.assignment.gpu_type] += requested
    return usage


def draw_by_domain(
    nodes: Iterable[Node], usage: dict[NodeName, NodeUsage]
) -> dict[DomainName, int]:
    """What the GPUs in use draw above idle in each power domain, in microwatts."""
    draw: defaultdict[DomainName, int] = defaultdict(int)
    for node in nodes:
        if node.name in usage:
            for domain in node.power_domains:
                draw[domain] += usage[node.name].draw_milli * node.busy_milliwatts
    return draw
