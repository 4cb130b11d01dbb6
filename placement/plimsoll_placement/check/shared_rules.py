"""What must hold of all jobs together: one function per rule, yielding what is wrong.

Held jobs (see `PlacedJob`) may by themselves exceed a node, a queue or a power domain that shrank
under them. Then nothing may be added to what they take there.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from plimsoll_placement.check.device_fit import devices_fit
from plimsoll_placement.check.usage import NodeUsage
from plimsoll_placement.check.violation import Rule
from plimsoll_placement.model import DomainName, GpuType, Node, QueueName, amount_in
from plimsoll_placement.problem import Problem

Breach = tuple[str, str]
"""The queue or domain, and what is wrong with it."""

MICRO_PER_MILLI = 1000


def cpu_suffices(node: Node, used: NodeUsage, held: NodeUsage) -> Iterator[str]:
    """No CPU of a node is allocated twice."""
    if used.cpu_millis > max(node.cpu_millis, held.cpu_millis):
        yield f"{used.cpu_millis} millicores taken of {node.cpu_millis}"


def memory_suffices(node: Node, used: NodeUsage, held: NodeUsage) -> Iterator[str]:
    """No memory of a node is allocated twice."""
    if used.memory_bytes > max(node.memory_bytes, held.memory_bytes):
        yield f"{used.memory_bytes} bytes taken of {node.memory_bytes}"


def pod_slots_suffice(node: Node, used: NodeUsage, held: NodeUsage) -> Iterator[str]:
    """A node holds no more pods than it has slots for."""
    if used.pods > max(node.pod_slots, held.pods):
        yield f"{used.pods} pods on {node.pod_slots} slots"


def devices_suffice(node: Node, used: NodeUsage, held: NodeUsage) -> Iterator[str]:
    """No GPU or fraction of one is allocated twice, and each fraction comes from one device."""
    for gpu_type, requested in used.requested_millis.items():
        groups = [devices for devices in node.devices if devices.gpu_type == gpu_type]
        is_added_to = len(requested) > len(held.requested_millis.get(gpu_type, ()))
        if groups and is_added_to and not devices_fit(groups, requested):
            free = ", ".join(str(milli) for group in groups for milli in group.free_milli)
            wanted = ", ".join(map(str, sorted(requested)))
            yield f"milli-GPUs asked of {gpu_type}: {wanted}; on its devices: {free}"


def gpu_memory_suffices(node: Node, used: NodeUsage, held: NodeUsage) -> Iterator[str]:
    """Pods with parts of a node's GPUs hold no more memory than these have, as far as is known."""
    if used.gpu_memory_bytes > max(node.gpu_memory_bytes, held.gpu_memory_bytes):
        yield f"{used.gpu_memory_bytes} bytes of GPU memory taken of {node.gpu_memory_bytes}"
    if used.most_gpu_memory_bytes > max(node.gpu_memory_each_bytes, held.most_gpu_memory_bytes):
        most = node.gpu_memory_each_bytes
        one = f"one pod takes {used.most_gpu_memory_bytes} bytes of GPU memory"
        yield f"{one}, it can have {most}"


def other_resources_suffice(node: Node, used: NodeUsage, held: NodeUsage) -> Iterator[str]:
    """No other resource of a node, such as its network devices, is allocated twice."""
    for name, amount in used.others.items():
        has = amount_in(dict(node.others), name)
        if amount > max(has, held.others.get(name, 0)):
            yield f"{amount} of {name} taken of {has}"


NodeRule = Callable[[Node, NodeUsage, NodeUsage], Iterator[str]]
"""What is wrong with a node, by what all jobs and what held jobs take of it."""

NODE_RULES: tuple[tuple[Rule, NodeRule], ...] = (
    (Rule.CPU, cpu_suffices),
    (Rule.MEMORY, memory_suffices),
    (Rule.POD_SLOTS, pod_slots_suffice),
    (Rule.DEVICES, devices_suffice),
    (Rule.GPU_MEMORY, gpu_memory_suffices),
    (Rule.OTHER_RESOURCES, other_resources_suffice),
)


@dataclass(frozen=True, slots=True)
class Totals:
    """What a set of jobs takes of queues, with those below them, and draws from power domains.

    In milli-GPUs and, above idle, in microwatts.
    """

    by_queue: Mapping[tuple[QueueName, GpuType], int]
    by_domain: Mapping[DomainName, int]


@dataclass(frozen=True, slots=True)
class Taken:
    """What all placed jobs take, and what the held ones among them take."""

    problem: Problem
    all: Totals
    held: Totals


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
    for domain in taken.problem.power_domains:
        spare = (domain.budget_milliwatts - domain.base_milliwatts) * MICRO_PER_MILLI
        drawn = taken.all.by_domain.get(domain.name, 0)
        if drawn > max(spare, taken.held.by_domain.get(domain.name, 0)):
            total = domain.base_milliwatts + drawn // MICRO_PER_MILLI
            yield domain.name, f"{total} milliwatts drawn, the budget is {domain.budget_milliwatts}"


SharedRule = Callable[[Taken], Iterator[Breach]]

SHARED_RULES: tuple[tuple[Rule, SharedRule], ...] = (
    (Rule.QUEUE_LIMIT, queue_limits_hold),
    (Rule.POWER_BUDGET, power_budgets_hold),
)
