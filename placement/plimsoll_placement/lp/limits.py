"""What all jobs share: the capacity of node classes, the power of domains, the limits of queues."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from plimsoll_placement.classes.node_class import NodeClass, largest_shapes, times
from plimsoll_placement.classes.relaxation import MICRO_PER_MILLI, Relaxation
from plimsoll_placement.lp.columns import Shares
from plimsoll_placement.lp.program import Column, Program
from plimsoll_placement.model import WHOLE_GPU_MILLI, DomainName, Shape

GIBIBYTE = 1 << 30

Demands = dict[int, dict[Shape, list[tuple[Column, float]]]]
"""Pods by node class and shape."""


@dataclass(frozen=True, slots=True)
class Part:
    """The nodes of a class that are in the same power domains."""

    domains: tuple[DomainName, ...]
    gpus: float


def limit_all(program: Program, relaxed: Relaxation, shares: Iterable[Shares]) -> None:
    """Add the rows for node classes and power domains; those for queues are in `accounts.py`."""
    shares = tuple(shares)
    demands = _demands(relaxed, shares)
    for place, by_shape in demands.items():
        _node_class_suffices(program, relaxed.node_classes.node_classes[place], by_shape)
        _shapes_find_room(program, relaxed.node_classes.node_classes[place], by_shape)
    _power_suffices(program, relaxed, shares, demands)


def _demands(relaxed: Relaxation, shares: Iterable[Shares]) -> Demands:
    demands: Demands = defaultdict(lambda: defaultdict(list))
    for own in shares:
        for way in own.ways:
            role = way.option.role
            pods = [(column, n * role.pods_per_replica) for column, n in way.replicas]
            for place in relaxed.node_classes.around[way.node_class]:
                demands[place][role.shape] += pods
        for stay, column in own.stays:
            for load in stay.loads:
                for place in relaxed.node_classes.serving(load):
                    demands[place][load.shape].append((column, float(load.pods)))
    return demands


def _node_class_suffices(
    program: Program, node_class: NodeClass, by_shape: dict[Shape, list[tuple[Column, float]]]
) -> None:
    """The nodes of a class together give no more GPUs, CPU, memory and pod slots than they have."""
    gpus, cpu = list[tuple[Column, float]](), list[tuple[Column, float]]()
    memory, slots = list[tuple[Column, float]](), list[tuple[Column, float]]()
    for shape, demand in by_shape.items():
        granted = (node_class.granted_milli(shape) or 0) / WHOLE_GPU_MILLI
        for column, pods in demand:
            gpus.append((column, pods * granted))
            cpu.append((column, pods * shape.cpu_millis / 1000))
            memory.append((column, pods * shape.memory_bytes / GIBIBYTE))
            slots.append((column, pods))
    program.at_most(gpus, _gpus(node_class))
    program.at_most(cpu, float(node_class.cpu.sum()) / 1000)
    program.at_most(memory, float(node_class.memory.sum()) / GIBIBYTE)
    program.at_most(slots, float(node_class.slots.sum()))


def _shapes_find_room(
    program: Program, node_class: NodeClass, by_shape: dict[Shape, list[tuple[Column, float]]]
) -> None:
    """Pods at least as large as a shape are no more than the nodes have room for of that shape."""
    for shape in largest_shapes(by_shape):
        terms: list[tuple[Column, float]] = []
        for other, demand in by_shape.items():
            factor = times(node_class, other, shape)
            terms += [(column, pods * factor) for column, pods in demand if factor]
        program.at_most(terms, float(node_class.room(shape).sum()))


def _power_suffices(
    program: Program, relaxed: Relaxation, shares: Iterable[Shares], demands: Demands
) -> None:
    """The draw in a node class is spread over its power domains, none beyond its budget.

    It is counted in GPUs in typical use, which may be more or fewer than the GPUs of a part.
    """
    left = relaxed.power_left()
    draws: dict[DomainName, list[tuple[Column, float]]] = defaultdict(list)
    for place in relaxed.node_classes.whole.node_classes:
        node_class = relaxed.node_classes.node_classes[place]
        parts = list(_parts(relaxed, node_class, left))
        if not parts or place not in demands:
            continue
        by_shape = demands[place]
        used = [
            (column, pods * shape.draw_milli / WHOLE_GPU_MILLI)
            for shape, demand in by_shape.items()
            for column, pods in demand
        ]
        steepest = max(shape.draw_milli / max(shape.gpu_milli, 1) for shape in by_shape)
        columns = [program.column(part.gpus * steepest) for part in parts]
        program.at_most([*used, *((column, -1.0) for column in columns)], 0.0)
        for part, column in zip(parts, columns, strict=True):
            for domain in part.domains:
                draws[domain].append((column, node_class.node.busy_milliwatts / WHOLE_GPU_MILLI))
    for column, domain, watts in _outside(relaxed, shares, left):
        draws[domain].append((column, watts))
    for domain, terms in draws.items():
        program.at_most(terms, left[domain] / MICRO_PER_MILLI / WHOLE_GPU_MILLI)


def _parts(
    relaxed: Relaxation, node_class: NodeClass, left: dict[DomainName, int]
) -> Iterator[Part]:
    """The parts of a class by power domain; none if nothing on it draws from a budget."""
    gpus: dict[tuple[DomainName, ...], int] = defaultdict(int)
    rows: list[int] = node_class.rows.tolist()
    for row, milli in zip(rows, node_class.free_milli.tolist(), strict=True):
        domains = relaxed.problem.nodes[row].power_domains
        gpus[tuple(domain for domain in domains if domain in left)] += milli
    if node_class.node.busy_milliwatts and any(gpus):
        for domains, milli in gpus.items():
            yield Part(domains, milli / WHOLE_GPU_MILLI)


def _outside(
    relaxed: Relaxation, shares: Iterable[Shares], left: dict[DomainName, int]
) -> Iterator[tuple[Column, DomainName, float]]:
    """The draw of what stays on nodes that are in no class, in watts."""
    for own in shares:
        for stay, column in own.stays:
            for load in stay.loads:
                if relaxed.node_classes.serving(load):
                    continue
                node = relaxed.problem.nodes[load.row]
                gpus = load.pods * load.shape.draw_milli / WHOLE_GPU_MILLI
                for domain in set(node.power_domains) & set(left):
                    yield column, domain, gpus * node.busy_milliwatts / WHOLE_GPU_MILLI


def _gpus(node_class: NodeClass) -> float:
    return float(node_class.free_milli.sum()) / WHOLE_GPU_MILLI
