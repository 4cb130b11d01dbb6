"""Who would have to leave a node for a request to fit there, and what that would cost."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.model import WHOLE_GPU_MILLI
from plimsoll_placement.placing.place import Request
from plimsoll_placement.preemption.tenants import (
    COLUMNS,
    CPU,
    GPU_MEMORY,
    KIND,
    LOSS,
    MEMORY,
    MILLI,
    PODS,
    POSITION,
    PRIORITY,
    WHOLE,
    Bools,
    Table,
    Tenant,
    tables_of,
)
from plimsoll_placement.state.device_pool import DevicePool, Ints
from plimsoll_placement.state.ledger import Ledger

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Payable:
    """The most that others may lose, weighed, of the work of no higher priority than this."""

    loss: float
    priority: int

    def less(self, loss: float) -> "Payable":
        """What is left once so much is lost."""
        return Payable(self.loss - loss, self.priority)


@dataclass(frozen=True, slots=True)
class Departure:
    """Tenants of a node without which `request` would fit there, and what they would lose.

    `idle_milli`: what would then be left idle of the devices.
    """

    request: Request
    row: int
    tenants: tuple[Tenant, ...]
    loss: float
    idle_milli: int = 0


class Departures:
    """The ways to make room in a ledger as it is when this is made."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._tables = tables_of(ledger)

    def leave(self, tenant: Tenant) -> None:
        """Ask a tenant no more to leave, because it has."""
        self._table_of(tenant).gone[tenant.number] = True

    def come_back(self, tenant: Tenant) -> None:
        """Undo that."""
        self._table_of(tenant).gone[tenant.number] = False

    def _table_of(self, tenant: Tenant) -> Table:
        tables = self._tables[tenant.gpu_type]
        return next(each for each in tables if tenant in each.tenants[tenant.number :][:1])

    def one_each(self, request: Request, payable: Payable) -> Iterator[Departure]:
        """Tenants without which alone all pods of a request would fit on their node.

        Of those of one kind it is who loses least and in whose place least is left idle.
        """
        for table in self._tables.get(request.gpu_type, ()):
            left = _left_without_one(table, request)
            if left is None:
                continue
            columns = table.columns
            fits = (left >= 0) & _may_yield(table, payable)
            fits &= self._has_rest(table.pool, request, columns[POSITION], columns)
            for name, amount in request.role.shape.others:
                free = self.ledger.other(name)[table.pool.rows[columns[POSITION]]]
                fits &= free + table.others(name) >= request.pods * amount
            for found in _one_of_each_kind(table, np.flatnonzero(fits), left):
                tenant = table.tenants[found]
                yield Departure(request, tenant.row, (tenant,), tenant.loss, int(left[found]))

    def several(
        self, request: Request, payable: Payable, is_movable: Callable[[Tenant], bool]
    ) -> Iterator[Departure]:
        """On each node the cheapest tenants that leave whole devices for all pods of a request."""
        for table in self._tables.get(request.gpu_type, ()):
            pool, columns = table.pool, table.columns
            granted = pool.granted_milli(request.role.shape.gpu_milli)
            devices = request.pods * (granted or 0) // WHOLE_GPU_MILLI
            if not 0 < devices <= pool.free.shape[1]:
                continue
            usable = _may_yield(table, payable) & table.movable(is_movable)
            there = np.zeros((len(pool.rows), COLUMNS), dtype=np.int64)
            np.add.at(there, columns[POSITION][usable], columns.T[usable])
            costs = _clearing_costs(table, usable)
            fits = self._has_rest(pool, request, np.arange(len(pool.rows)), there.T)
            for name, amount in request.role.shape.others:
                free = self.ledger.other(name)[pool.rows].copy()
                np.add.at(free, columns[POSITION][usable], table.others(name)[usable])
                fits &= free >= request.pods * amount
            costs[~fits] = np.inf
            yield from _cheapest(table, request, costs, devices)

    def _has_rest(
        self, pool: DevicePool, request: Request, positions: Ints, leaving: Ints
    ) -> Bools:
        """Whether a request may be on nodes, and has CPU, memory and slots there without some.

        `leaving`: the columns of what leaves each. Other resources are looked at by the caller.
        """
        ledger, shape, pods = self.ledger, request.role.shape, request.pods
        rows = pool.rows[positions]
        allowed = ledger.may_start(pool, request.role, spot=request.job.spot_percent > 0)
        allowed = allowed[positions] & (ledger.cpu[rows] + leaving[CPU] >= pods * shape.cpu_millis)
        allowed &= ledger.memory[rows] + leaving[MEMORY] >= pods * shape.memory_bytes
        if shape.gpu_memory_bytes:
            allowed &= ledger.gpu_memory_each[rows] >= shape.gpu_memory_bytes
            left = ledger.gpu_memory[rows] + leaving[GPU_MEMORY]
            allowed &= left >= pods * shape.gpu_memory_bytes
        return allowed & (ledger.slots[rows] + leaving[PODS] >= pods)


def _may_yield(table: Table, payable: Payable) -> Bools:
    """Which tenants lose no more than may be lost."""
    loss, priority = table.columns[LOSS], table.columns[PRIORITY]
    is_lower = (priority <= payable.priority) | (loss == 0)
    return ~table.gone & (loss <= payable.loss) & is_lower


def _left_without_one(table: Table, request: Request) -> Ints | None:
    """What is left idle beside the request in place of each tenant; negative: it does not fit.

    None if none alone makes room.
    """
    pool, at, pods = table.pool, table.columns[POSITION], request.pods
    granted = pool.granted_milli(request.role.shape.gpu_milli)
    if granted is None or (granted < WHOLE_GPU_MILLI and pods > 1):
        return None
    alone, whole = pool.free[at, table.first] + table.columns[MILLI], table.columns[WHOLE]
    if granted >= WHOLE_GPU_MILLI:
        emptied = np.maximum(whole, alone == WHOLE_GPU_MILLI)
        return (pool.whole[at] + emptied) * WHOLE_GPU_MILLI - granted * pods
    roomiest = np.maximum(np.minimum(alone, WHOLE_GPU_MILLI), pool.free[at].max(axis=1))
    return roomiest - granted


def _clearing_costs(table: Table, usable: Bools) -> Floats:
    """By position and device what the tenants there would lose; infinite if others are there.

    A tenant's loss is spread over its devices. Of equal losses the one of fewer GPUs is less.
    """
    pool, columns = table.pool, table.columns
    share = np.maximum(columns[WHOLE], 1)
    at, owner = (columns[POSITION][table.owner], table.device), table.owner
    held, lost = np.zeros(pool.free.shape), np.zeros(pool.free.shape)
    np.add.at(held, at, np.where(usable, columns[MILLI] / share, 0)[owner])
    np.add.at(lost, at, np.where(usable, (columns[LOSS] + columns[MILLI]) / share, 0)[owner])
    return np.where(pool.free + held == WHOLE_GPU_MILLI, lost, np.inf)


def _cheapest(table: Table, request: Request, costs: Floats, devices: int) -> Iterator[Departure]:
    """For each node that can be cleared of so many devices, who leaves; the cheapest first."""
    order = np.argsort(costs, axis=1, kind="stable")[:, :devices]
    total = np.take_along_axis(costs, order, axis=1).sum(axis=1)
    some_leave = np.flatnonzero((total > 0) & (total < np.inf))
    for position in some_leave[np.argsort(total[some_leave], kind="stable")].tolist():
        tenants = tuple(table.tenants[each] for each in table.on(position, order[position]))
        loss = sum(tenant.loss for tenant in tenants)
        yield Departure(request, int(table.pool.rows[position]), tenants, loss)


def _one_of_each_kind(table: Table, found: Ints, left: Ints) -> list[int]:
    """Of tenants by index the best of each kind."""
    best_first = found[np.lexsort((left[found], table.columns[LOSS][found]))]
    _, first = np.unique(table.columns[KIND][best_first], return_index=True)
    return best_first[first].tolist()
