"""Constraints about room on nodes: what cells hold in sum, and what single nodes let through.

Sums over a cell know nothing of holes: eight nodes with one free GPU each have no room for a pod
of eight. Counting, for each shape, the nodes that have room for it beside what stays mends that.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from ortools.sat.python.cp_model import IntVar

from plimsoll_placement.classes.domain_options import Site
from plimsoll_placement.classes.node_class import MOST_SHAPES, Cell, Load, largest_shapes, times
from plimsoll_placement.classes.relaxation import Relaxation
from plimsoll_placement.cpsat.builder import Draft, Tenants
from plimsoll_placement.cpsat.residual_capacity import Hole, Tenant
from plimsoll_placement.cpsat.sums import Sum, at_most
from plimsoll_placement.cpsat.variables import Kept, Variables
from plimsoll_placement.model import GpuType, Shape

MEBIBYTE = 1 << 20


def cells_suffice(draft: Draft) -> None:
    """The nodes of a cell together give no more GPUs, CPU, memory and pod slots than they have."""
    for cell, tenants in draft.cells:
        milli, cpu, memory, slots = Sum(), Sum(), Sum(), Sum()
        for shape, count, pods in _demands(tenants):
            milli.add(count, pods * (cell.granted_milli(shape) or 0))
            cpu.add(count, pods * shape.cpu_millis)
            memory.add(count, pods * shape.memory_bytes // MEBIBYTE)
            slots.add(count, pods)
        at_most(draft.model, milli, int(cell.free_milli.sum()))
        at_most(draft.model, cpu, int(cell.cpu.sum()))
        at_most(draft.model, memory, int(cell.memory.sum()) // MEBIBYTE)
        at_most(draft.model, slots, int(cell.slots.sum()))


def _demands(tenants: Tenants) -> Iterator[tuple[Shape, list[tuple[IntVar, int]], int]]:
    """Each shape, a count, and the pods for one of that count."""
    for shape, count in tenants.pods.items():
        yield shape, count.terms, 1
    for stays in tenants.stays.values():
        for kept, load in stays:
            yield load.shape, [(kept.units, 1)], load.pods


def shapes_find_room(draft: Draft) -> None:
    """Pods at least as large as a shape are no more than the nodes have room for of that shape."""
    for cell, tenants in draft.cells:
        for shape in largest_shapes(tenants.pods):
            if _is_implied(cell, tenants, shape):
                continue
            total = Sum()
            for other, count in tenants.pods.items():
                total.add(count.terms, times(cell, other, shape))
            at_most(draft.model, total, _room(draft.variables, cell, tenants, shape, total))


def _is_implied(cell: Cell, tenants: Tenants, shape: Shape) -> bool:
    """Whether the sum over the cell says it all: pods of the shape leave no rest on any node."""
    granted = cell.granted_milli(shape) or 1
    if cell.has_any_fraction:
        return False
    if int(cell.room(shape).sum()) * granted < int(cell.free_milli.sum()):
        return False
    return all(
        (cell.granted_milli(load.shape) or 0) % granted == 0
        for stays in tenants.stays.values()
        for _, load in stays
    )


def _room(variables: Variables, cell: Cell, tenants: Tenants, shape: Shape, total: Sum) -> int:
    """The room on nodes where nothing may stay; that on the others is taken off the total."""
    room, granted = cell.room(shape), cell.granted_milli(shape) or 1
    if cell.has_any_fraction:
        return int(room.sum())
    holes: Counter[Hole] = Counter()
    alone = 0
    for row, most, free in zip(
        *(a.tolist() for a in (cell.rows, room, cell.free_milli)), strict=True
    ):
        if most and row in tenants.stays:
            stays = tuple(_tenant(cell, kept, load) for kept, load in tenants.stays[row])
            holes[Hole(free, granted, most, stays)] += 1
        else:
            alone += most
    for hole, nodes in holes.items():
        hole.add_to(variables, total, nodes)
    return alone


def _tenant(cell: Cell, kept: Kept, load: Load) -> Tenant:
    return Tenant(kept, load.pods * (cell.granted_milli(load.shape) or 0))


def gangs_find_domains(draft: Draft) -> None:
    """Where alike domains are taken together, gangs too large to share one have one each."""
    gangs: dict[tuple[int, GpuType], dict[int, Sum]] = defaultdict(lambda: defaultdict(Sum))
    sites: dict[int, Site] = {}
    for fresh in draft.variables.fresh:
        site, role = fresh.option.site, fresh.role
        if fresh.runs is not None and len(site.domains) > 1:
            milli = fresh.option.least * role.pods_per_replica * role.shape.gpu_milli
            gangs[id(site), fresh.option.gpu_type][milli].add([(fresh.runs, 1)])
            sites[id(site)] = site
    for (key, gpu_type), by_milli in gangs.items():
        rooms = _domain_milli(draft.relaxation, sites[key], gpu_type)
        for milli in sorted(by_milli, reverse=True)[:MOST_SHAPES]:
            total = Sum()
            for other, count in by_milli.items():
                total.add(count.terms, other // milli)
            at_most(draft.model, total, sum(room // milli for room in rooms))


def _domain_milli(relaxation: Relaxation, site: Site, gpu_type: GpuType) -> list[int]:
    """The milli-GPUs of a type that each domain of a site has free."""
    free: dict[int, int] = defaultdict(int)
    for place in site.cells:
        cell = relaxation.cells.cells[place]
        if cell.gpu_type == gpu_type:
            for row, milli in zip(cell.rows.tolist(), cell.free_milli.tolist(), strict=True):
                free[row] += milli
    return [sum(free[row] for row in domain) for domain in site.domains]


def stays_fit_their_nodes(draft: Draft) -> None:
    """What stays on a node is no more than the node has, now that it may have less than before."""
    ledger = draft.relaxation.ledger
    by_row: dict[int, list[tuple[Kept, Load]]] = defaultdict(list)
    for kept in draft.variables.kept:
        for load in kept.stay.loads:
            by_row[load.row].append((kept, load))
    for row, stays in by_row.items():
        has = (ledger.cpu[row], ledger.memory[row] // MEBIBYTE, ledger.slots[row])
        for limit, needs in zip(
            has, zip(*(_needs(load) for _, load in stays), strict=True), strict=True
        ):
            _fit(draft, [kept for kept, _ in stays], needs, max(0, int(limit)))
        _devices_fit(draft, row, stays)


def _needs(load: Load) -> tuple[int, int, int]:
    """The CPU, memory and pod slots of a load."""
    shape = load.shape
    return (
        load.pods * shape.cpu_millis,
        load.pods * shape.memory_bytes // MEBIBYTE,
        load.pods,
    )


def _devices_fit(draft: Draft, row: int, stays: Sequence[tuple[Kept, Load]]) -> None:
    for gpu_type in {load.gpu_type for _, load in stays}:
        mine = [(kept, load) for kept, load in stays if load.gpu_type == gpu_type]
        banks = draft.relaxation.ledger.banks.get(gpu_type, ())
        free = sum(int(bank.milli[bank.rows == row].sum()) for bank in banks)
        needs = [load.pods * load.shape.gpu_milli for _, load in mine]
        _fit(draft, [kept for kept, _ in mine], needs, free)


def _fit(draft: Draft, kept: Sequence[Kept], needs: Sequence[int], limit: int) -> None:
    """Demand what could be broken; nearly always all of it fits."""
    most = [each.group.size * len(each.stay.units) for each in kept]
    if sum(count * need for count, need in zip(most, needs, strict=True)) > limit:
        total = Sum().add((each.units, need) for each, need in zip(kept, needs, strict=True))
        at_most(draft.model, total, limit)
