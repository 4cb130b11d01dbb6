"""What a plan's placements take from each node, each queue and each power domain."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from plimsoll.planning.plan.decisions import PlanResult
from plimsoll_placement.check.placed import PlacedJob, placed_job
from plimsoll_placement.check.usage import NodeUsage, milli_by_type, pods_by_node
from plimsoll_placement.model import DomainName, GpuType, Node, NodeName, QueueName
from plimsoll_placement.problem import Problem


def placed_jobs(result: PlanResult) -> Iterator[PlacedJob]:
    """Every job that is placed, or is pinned and should be placed, in the problem's order."""
    nodes = {node.name: node for node in result.problem.nodes}
    for job in result.problem.jobs:
        assignments = result.solution.placements.get(job.name, ())
        if assignments or job.pinned:
            yield placed_job(job, assignments, nodes)


def usage_by_node(placed: Iterable[PlacedJob]) -> dict[NodeName, NodeUsage]:
    """What the pods take of each node that has any."""
    usage: defaultdict[NodeName, NodeUsage] = defaultdict(NodeUsage)
    for job in placed:
        for node, pods in pods_by_node(job).items():
            for shape, gpu_type in pods:
                usage[node].add(shape, gpu_type)
    return dict(usage)


def usage_by_queue(
    problem: Problem, placed: Iterable[PlacedJob]
) -> dict[tuple[QueueName, GpuType], int]:
    """The milli-GPUs of each type that each queue, with its descendants, asks for."""
    usage: defaultdict[tuple[QueueName, GpuType], int] = defaultdict(int)
    for job in placed:
        for gpu_type, milli in milli_by_type(job).items():
            for queue in problem.queue_chain.get(job.job.queue, ()):
                usage[queue, gpu_type] += milli
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
