"""Constraints on capacity: what node classes hold in total, and what single nodes allow.

Totals over a class ignore fragmentation: eight nodes with one free GPU each have no room for a pod
of eight. Counting, for each shape, the nodes that have room for it beside what stays corrects that.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ortools.sat.python.cp_model import IntVar

from plimsoll_placement.classes.domain_options import DomainOption
from plimsoll_placement.classes.node_class import (
    MOST_SHAPES,
    Load,
    NodeClass,
    largest_shapes,
    times,
)
from plimsoll_placement.classes.relaxation import Relaxation
from plimsoll_placement.cpsat.builder import ModelBuilder, Occupants
from plimsoll_placement.cpsat.sums import Sum, at_most
from plimsoll_placement.cpsat.variables import Kept, Variables
from plimsoll_placement.model import GpuType, Shape

MEBIBYTE = 1 << 20


def node_classes_suffice(builder: ModelBuilder) -> None:
    """The nodes of a class together give no more GPUs, CPU, memory and pod slots than they have."""
    for node_class, occupants in builder.node_classes:
        milli, cpu, memory, slots = Sum(), Sum(), Sum(), Sum()
        for shape, count, pods in _demands(occupants):
            milli.add(count, pods * (node_class.granted_milli(shape) or 0))
            cpu.add(count, pods * shape.cpu_millis)
            memory.add(count, pods * shape.memory_bytes // MEBIBYTE)
            slots.add(count, pods)
        at_most(builder.model, milli, int(node_class.free_milli.sum()))
        at_most(builder.model, cpu, int(node_class.cpu.sum()))
        at_most(builder.model, memory, int(node_class.memory.sum()) // MEBIBYTE)
        at_most(builder.model, slots, int(node_class.slots.sum()))


def _demands(occupants: Occupants) -> Iterator[tuple[Shape, list[tuple[IntVar, int]], int]]:
    """Each shape, a count as a sum, and the pods per unit of that count."""
    for shape, count in occupants.pods.items():
        yield shape, count.terms, 1
    for stays in occupants.stays.values():
        for kept, load in stays:
            yield load.shape, [(kept.units, 1)], load.pods


def shapes_find_room(builder: ModelBuilder) -> None:
    """Pods at least as large as a shape are no more than the nodes have room for of that shape."""
    for node_class, occupants in builder.node_classes:
        for shape in largest_shapes(occupants.pods):
            if _is_implied(node_class, occupants, shape):
                continue
            total = Sum()
            for other, count in occupants.pods.items():
                total.add(count.terms, times(node_class, other, shape))
            at_most(
                builder.model, total, _room(builder.variables, node_class, occupants, shape, total)
            )


def _is_implied(node_class: NodeClass, occupants: Occupants, shape: Shape) -> bool:
    """Whether the class total implies it: pods of the shape leave no remainder on any node."""
    granted = node_class.granted_milli(shape) or 1
    if node_class.has_any_fraction:
        return False
    if int(node_class.room(shape).sum()) * granted < int(node_class.free_milli.sum()):
        return False
    return all(
        (node_class.granted_milli(load.shape) or 0) % granted == 0
        for stays in occupants.stays.values()
        for _, load in stays
    )


def _room(
    variables: Variables, node_class: NodeClass, occupants: Occupants, shape: Shape, total: Sum
) -> int:
    """The room on nodes where nothing may stay; that on the others is subtracted from the total."""
    room, granted = node_class.room(shape), node_class.granted_milli(shape) or 1
    if node_class.has_any_fraction:
        return int(room.sum())
    residual: Counter[_ResidualCapacity] = Counter()
    alone = 0
    for row, most, free in zip(
        *(a.tolist() for a in (node_class.rows, room, node_class.free_milli)), strict=True
    ):
        if most and row in occupants.stays:
            stays = tuple(_occupant(node_class, kept, load) for kept, load in occupants.stays[row])
            residual[_ResidualCapacity(free, granted, most, stays)] += 1
        else:
            alone += most
    for left, nodes in residual.items():
        left.add_to(variables, total, nodes)
    return alone


@dataclass(frozen=True, slots=True)
class _Occupant:
    """What may stay on a node: one unit of it holds that many milli-GPUs there."""

    kept: Kept
    milli: int


def _occupant(node_class: NodeClass, kept: Kept, load: Load) -> _Occupant:
    return _Occupant(kept, load.pods * (node_class.granted_milli(load.shape) or 0))


@dataclass(frozen=True, slots=True)
class _ResidualCapacity:
    """What is left on a node: up to `most` pods of `milli`, in `free_milli` less what stays."""

    free_milli: int
    milli: int
    most: int
    occupants: tuple[_Occupant, ...]

    def add_to(self, variables: Variables, total: Sum, nodes: int) -> None:
        """Subtract the room of `nodes` nodes like this from a total of pods."""
        stays = self._stays()

        def room(values: Sequence[int]) -> int:
            return max(0, min(self.most, (self.free_milli - stays.value(values)) // self.milli))

        residual = variables.derive(self.most, room)
        both = Sum().add(stays.terms).add([(residual, self.milli)])
        at_most(variables.model, both, self.free_milli)
        total.add([(residual, -nodes)])
        for occupant in self.occupants:
            parts = Sum().add([(residual, 1), (occupant.kept.units, self._blocked(occupant))])
            at_most(variables.model, parts, self.most)

    def _stays(self) -> Sum:
        return Sum().add((occupant.kept.units, occupant.milli) for occupant in self.occupants)

    def _blocked(self, occupant: _Occupant) -> int:
        """How many fewer pods there is room for if this one stays, if that is all or nothing."""
        if occupant.kept.job_class.size * len(occupant.kept.stay.units) > 1:
            return 0
        beside = max(0, self.free_milli - occupant.milli) // self.milli
        return self.most - min(self.most, beside)


def gangs_find_domains(builder: ModelBuilder) -> None:
    """Where like domains are merged, gangs too large to share a domain have one each."""
    gangs: dict[tuple[int, GpuType], dict[int, Sum]] = defaultdict(lambda: defaultdict(Sum))
    domain_options: dict[int, DomainOption] = {}
    for fresh in builder.variables.fresh:
        domain_option, role = fresh.option.domain_option, fresh.role
        if fresh.runs is not None and len(domain_option.domains) > 1:
            milli = fresh.option.least * role.pods_per_replica * role.shape.gpu_milli
            gangs[id(domain_option), fresh.option.gpu_type][milli].add([(fresh.runs, 1)])
            domain_options[id(domain_option)] = domain_option
    for (key, gpu_type), by_milli in gangs.items():
        rooms = _domain_milli(builder.relaxation, domain_options[key], gpu_type)
        for milli in sorted(by_milli, reverse=True)[:MOST_SHAPES]:
            total = Sum()
            for other, count in by_milli.items():
                total.add(count.terms, other // milli)
            at_most(builder.model, total, sum(room // milli for room in rooms))


def _domain_milli(
    relaxation: Relaxation, domain_option: DomainOption, gpu_type: GpuType
) -> list[int]:
    """The free milli-GPUs of a type in each domain of a domain option."""
    free: dict[int, int] = defaultdict(int)
    for place in domain_option.node_classes:
        node_class = relaxation.node_classes.node_classes[place]
        if node_class.gpu_type == gpu_type:
            for row, milli in zip(
                node_class.rows.tolist(), node_class.free_milli.tolist(), strict=True
            ):
                free[row] += milli
    return [sum(free[row] for row in domain) for domain in domain_option.domains]


def stays_fit_their_nodes(builder: ModelBuilder) -> None:
    """What stays on a node is no more than the node has, which may be less than before."""
    ledger = builder.relaxation.ledger
    by_row: dict[int, list[tuple[Kept, Load]]] = defaultdict(list)
    for kept in builder.variables.kept:
        for load in kept.stay.loads:
            by_row[load.row].append((kept, load))
    for row, stays in by_row.items():
        has = (ledger.cpu[row], ledger.memory[row] // MEBIBYTE, ledger.slots[row])
        for limit, needs in zip(
            has, zip(*(_needs(load) for _, load in stays), strict=True), strict=True
        ):
            _fit(builder, [kept for kept, _ in stays], needs, max(0, int(limit)))
        _devices_fit(builder, row, stays)


def _needs(load: Load) -> tuple[int, int, int]:
    """The CPU, memory and pod slots of a load."""
    shape = load.shape
    return (
        load.pods * shape.cpu_millis,
        load.pods * shape.memory_bytes // MEBIBYTE,
        load.pods,
    )


def _devices_fit(builder: ModelBuilder, row: int, stays: Sequence[tuple[Kept, Load]]) -> None:
    for gpu_type in {load.gpu_type for _, load in stays}:
        mine = [(kept, load) for kept, load in stays if load.gpu_type == gpu_type]
        device_pools = builder.relaxation.ledger.device_pools.get(gpu_type, ())
        free = sum(
            int(device_pool.milli[device_pool.rows == row].sum()) for device_pool in device_pools
        )
        needs = [load.pods * load.shape.gpu_milli for _, load in mine]
        _fit(builder, [kept for kept, _ in mine], needs, free)


def _fit(builder: ModelBuilder, kept: Sequence[Kept], needs: Sequence[int], limit: int) -> None:
    """Add the constraint if it could be violated; nearly always everything fits."""
    most = [each.job_class.size * len(each.stay.units) for each in kept]
    if sum(count * need for count, need in zip(most, needs, strict=True)) > limit:
        total = Sum().add((each.units, need) for each, need in zip(kept, needs, strict=True))
        at_most(builder.model, total, limit)
