"""What must hold of all jobs together: one function per rule, yielding the subject and the breach.

Held jobs (see `PlacedJob`) may by themselves exceed a node, a queue or a power domain that shrank
under them. Then nothing may be added to what they take there.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from plimsoll_placement.check.device_fit import devices_fit
from plimsoll_placement.check.placed import PlacedJob
from plimsoll_placement.check.usage import NodeUsage, draw_by_domain, usage_by_node, usage_by_queue
from plimsoll_placement.check.violation import Rule
from plimsoll_placement.model import GpuType, Node, NodeName, QueueName
from plimsoll_placement.problem import Problem

Breach = tuple[str, str]
"""The node, queue or domain, and what is wrong with it."""

MICRO_PER_MILLI = 1000


@dataclass(frozen=True, slots=True)
class Totals:
    """What a set of jobs takes from nodes and queues."""

    by_node: dict[NodeName, NodeUsage]
    by_queue: Mapping[tuple[QueueName, GpuType], int]


@dataclass(frozen=True, slots=True)
class Taken:
    """What all placed jobs take, and what the held ones among them take."""

    problem: Problem
    all: Totals
    held: Totals

    def nodes(self) -> Iterator[tuple[Node, NodeUsage, NodeUsage]]:
        """Each node in use, with what all jobs and what held jobs take of it."""
        for node in self.problem.nodes:
            if node.name in self.all.by_node:
                held = self.held.by_node.get(node.name) or NodeUsage()
                yield node, self.all.by_node[node.name], held


def taken(problem: Problem, placed: tuple[PlacedJob, ...]) -> Taken:
    """What the placed jobs take in this problem."""
    held = tuple(job for job in placed if job.is_held)
    return Taken(problem, _totals(problem, placed), _totals(problem, held))


def _totals(problem: Problem, placed: tuple[PlacedJob, ...]) -> Totals:
    return Totals(usage_by_node(placed), usage_by_queue(problem, placed))


def cpu_suffices(taken: Taken) -> Iterator[Breach]:
    """No CPU of a node is allocated twice."""
    for node, used, held in taken.nodes():
        if used.cpu_millis > max(node.cpu_millis, held.cpu_millis):
            yield node.name, f"{used.cpu_millis} millicores taken of {node.cpu_millis}"


def memory_suffices(taken: Taken) -> Iterator[Breach]:
    """No memory of a node is allocated twice."""
    for node, used, held in taken.nodes():
        if used.memory_bytes > max(node.memory_bytes, held.memory_bytes):
            yield node.name, f"{used.memory_bytes} bytes taken of {node.memory_bytes}"


def pod_slots_suffice(taken: Taken) -> Iterator[Breach]:
    """A node holds no more pods than it has slots for."""
    for node, used, held in taken.nodes():
        if used.pods > max(node.pod_slots, held.pods):
            yield node.name, f"{used.pods} pods on {node.pod_slots} slots"


def devices_suffice(taken: Taken) -> Iterator[Breach]:
    """No GPU or fraction of one is allocated twice, and each fraction comes from one device."""
    for node, used, held in taken.nodes():
        for gpu_type, requested in used.requested_millis.items():
            groups = [devices for devices in node.devices if devices.gpu_type == gpu_type]
            is_added_to = len(requested) > len(held.requested_millis.get(gpu_type, ()))
            if groups and is_added_to and not devices_fit(groups, requested):
                free = ", ".join(str(milli) for group in groups for milli in group.free_milli)
                wanted = ", ".join(map(str, requested))
                yield node.name, f"milli-GPUs asked of {gpu_type}: {wanted}; on its devices: {free}"


def gpu_memory_suffices(taken: Taken) -> Iterator[Breach]:
    """Pods with parts of a node's GPUs hold no more memory than these have, as far as is known."""
    for node, used, held in taken.nodes():
        if used.gpu_memory_bytes > max(node.gpu_memory_bytes, held.gpu_memory_bytes):
            there = f"{used.gpu_memory_bytes} bytes of GPU memory taken of {node.gpu_memory_bytes}"
            yield node.name, there
        if used.most_gpu_memory_bytes > max(node.gpu_memory_each_bytes, held.most_gpu_memory_bytes):
            most = node.gpu_memory_each_bytes
            one = f"one pod takes {used.most_gpu_memory_bytes} bytes of GPU memory"
            yield node.name, f"{one}, it can have {most}"


def queue_limits_hold(taken: Taken) -> Iterator[Breach]:
    """A queue and all its descendants together stay within its limit of each GPU type."""
    for queue in taken.problem.queues:
        for gpu_type, limit in queue.limit.items():
            used = taken.all.by_queue.get((queue.name, gpu_type), 0)
            held = taken.held.by_queue.get((queue.name, gpu_type), 0)
            if used > max(limit, held):
                yield queue.name, f"{used} milli-GPUs of {gpu_type} taken, the limit is {limit}"


def power_budgets_hold(taken: Taken) -> Iterator[Breach]:
    """The expected draw of a power domain stays within its budget."""
    draw = draw_by_domain(taken.problem.nodes, taken.all.by_node)
    held = draw_by_domain(taken.problem.nodes, taken.held.by_node)
    for domain in taken.problem.power_domains:
        spare = (domain.budget_milliwatts - domain.base_milliwatts) * MICRO_PER_MILLI
        drawn = draw.get(domain.name, 0)
        if drawn > max(spare, held.get(domain.name, 0)):
            total = domain.base_milliwatts + drawn // MICRO_PER_MILLI
            yield domain.name, f"{total} milliwatts drawn, the budget is {domain.budget_milliwatts}"


SharedRule = Callable[[Taken], Iterator[Breach]]

SHARED_RULES: tuple[tuple[Rule, SharedRule], ...] = (
    (Rule.CPU, cpu_suffices),
    (Rule.MEMORY, memory_suffices),
    (Rule.POD_SLOTS, pod_slots_suffice),
    (Rule.DEVICES, devices_suffice),
    (Rule.GPU_MEMORY, gpu_memory_suffices),
    (Rule.QUEUE_LIMIT, queue_limits_hold),
    (Rule.POWER_BUDGET, power_budgets_hold),
)
