"""What could move to make room: gangs and replicas on one node, as arrays to search all at once.

A gang that spans nodes stays: wherever it went, it would need as many of them again. So does one of
several roles.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.model import WHOLE_GPU_MILLI, Assignments, GpuType, Job, JobName, Role
from plimsoll_placement.score.worth import held_milli
from plimsoll_placement.state.device_pool import DevicePool, Ints
from plimsoll_placement.state.held import Held
from plimsoll_placement.state.ledger import Ledger

Bools = NDArray[np.bool_]

COLUMNS = 10
POSITION, MILLI, WHOLE, CPU, MEMORY, GPU_MEMORY, PODS, LOSS, PRIORITY, KIND = range(COLUMNS)
"""Where a tenant is, what it holds there, the weighed work that a move of it throws away, the
priority at which that counts, and its kind. `WHOLE`: the devices that it has to itself; of any
other device it has a part."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """What moves together: a whole gang, or one replica of a service, all on one node.

    `number`: its index among those on devices of the same pool. Tenants of one `kind` have room in
    the same places. `loss` is weighed by the priority.
    """

    number: int
    job: Job
    assignments: Assignments
    row: int
    loss: int
    kind: int

    @property
    def role(self) -> Role:
        """The role of its replicas."""
        return self.job.role(self.assignments[0].role)

    @property
    def gpu_type(self) -> GpuType:
        """The type that it runs on."""
        return self.assignments[0].gpu_type

    @property
    def gpu_milli(self) -> int:
        """The milli-GPUs that it asks for."""
        return held_milli(self.job, self.assignments)


class _Kinds:
    """Numbers tenants by what decides where they have room."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._roles: dict[int, int] = {}
        """By the identity of roles, because most are of many tenants."""

    def of(self, job: Job, unit: Assignments) -> int:
        """The number of a tenant's kind."""
        role = job.role(unit[0].role)
        if id(role) not in self._roles:
            yields = frozenset(role.yields.items())
            needs = role.shape, role.eligible, yields, role.pods_per_replica
            self._roles[id(role)] = self._number(needs)
        needs = job.queue, job.required_level, job.spot_percent, job.gang
        return self._number((self._roles[id(role)], len(unit), unit[0].gpu_type, *needs))

    def _number(self, needs: Hashable) -> int:
        return self._numbers.setdefault(needs, len(self._numbers))


class Table:
    """The tenants on the devices of one pool: by tenant `columns`, by part of a device `parts`.

    A part is of one tenant, by its index, on one device; a tenant of several devices has several.
    """

    def __init__(self, pool: DevicePool) -> None:
        self.pool = pool
        self.tenants: list[Tenant] = []
        self._columns: list[Sequence[int]] = []
        self._parts: list[tuple[int, int]] = []
        self._movable: Bools | None = None

    def add(self, tenant: Tenant, columns: Sequence[int], devices: Sequence[int]) -> None:
        """Add a tenant with its columns."""
        self._parts += [(len(self.tenants), device) for device in devices]
        self.tenants.append(tenant)
        self._columns.append(columns)

    def close(self) -> None:
        """Turn what was added into arrays."""
        self.gone = np.zeros(len(self.tenants), dtype=np.bool_)
        self.columns: Ints = np.array(self._columns, dtype=np.int64).reshape(-1, COLUMNS).T
        self.owner, self.device = np.array(self._parts, dtype=np.int64).reshape(-1, 2).T
        self.first: Ints = np.zeros(len(self.tenants), dtype=np.int64)
        self.first[self.owner[::-1]] = self.device[::-1]
        at = self.columns[POSITION][self.owner]
        self._by_position = np.argsort(at, kind="stable")
        self._begins = np.searchsorted(at[self._by_position], np.arange(len(self.pool.rows) + 1))

    def movable(self, is_movable: Callable[[Tenant], bool]) -> Bools:
        """Which tenants are movable, asked once for each kind."""
        if self._movable is None:
            _, first, kind = np.unique(self.columns[KIND], return_index=True, return_inverse=True)
            answers = [is_movable(self.tenants[int(each)]) for each in first]
            self._movable = np.array(answers, dtype=np.bool_)[kind]
        return self._movable

    def on(self, position: int, devices: Ints) -> list[int]:
        """The tenants that have parts of some devices of a node."""
        parts = self._by_position[self._begins[position] : self._begins[position + 1]]
        owners: Ints = self.owner[parts][np.isin(self.device[parts], devices)]
        return np.unique(owners[~self.gone[owners]]).tolist()


@dataclass(frozen=True, slots=True)
class _Unit:
    """What could move together, with its columns but for its kind; None: it is not on one node."""

    assignments: Assignments
    held: Sequence[Held]
    columns: Sequence[int] | None


class _Units:
    """The units of each job, from one ledger to the next, by the very devices that it holds."""

    def __init__(self) -> None:
        self._known: dict[JobName, tuple[Job, int, Sequence[_Unit]]] = {}

    def of(self, ledger: Ledger, job: Job, assignments: Assignments) -> Sequence[_Unit]:
        """What could move together of a job that may move."""
        lowest = ledger.problem.priorities[-1]
        known = self._known.get(job.name)
        if (
            known is not None
            and known[0] is job
            and known[1] == lowest
            and _holds_the_same(ledger, job, assignments, known[2])
        ):
            return known[2]
        found = [
            _Unit(unit, held, _columns(ledger, job, unit, held))
            for unit in _units(job, assignments)
            for held in ([pod for each in unit for pod in ledger.devices_of(job, each)],)
        ]
        self._known[job.name] = job, lowest, found
        return found


def _holds_the_same(
    ledger: Ledger, job: Job, assignments: Assignments, units: Sequence[_Unit]
) -> bool:
    if sum(len(unit.assignments) for unit in units) != len(assignments):
        return False
    now = (pod for each in assignments for pod in ledger.devices_of(job, each))
    was = (pod for unit in units for pod in unit.held)
    return all(a is b for a, b in zip_longest(now, was))


def tables_of(ledger: Ledger) -> Mapping[GpuType, Sequence[Table]]:
    """The tenants of a ledger as they are now, by GPU type."""
    pools = [pool for of_type in ledger.device_pools.values() for pool in of_type]
    tables, kinds = {id(pool): Table(pool) for pool in pools}, _Kinds()
    memory = ledger.problem.memory
    units = _Units() if memory is None else memory.part(_Units)
    for name, assignments in ledger.placed.items():
        job = ledger.problem.job_by_name[name]
        if job.pinned or job.companions:
            continue
        for unit in units.of(ledger, job, assignments):
            if unit.columns is not None:
                kind, table = kinds.of(job, unit.assignments), tables[id(unit.held[0].device_pool)]
                row = int(table.pool.rows[unit.held[0].position])
                loss = unit.columns[LOSS]
                tenant = Tenant(len(table.tenants), job, unit.assignments, row, loss, kind)
                devices = [device for pod in unit.held for device in pod.devices]
                table.add(tenant, (*unit.columns, kind), devices)
    by_type: dict[GpuType, list[Table]] = defaultdict(list)
    for table in tables.values():
        if table.tenants:
            table.close()
            by_type[table.pool.gpu_type].append(table)
    return by_type


def _units(job: Job, assignments: Assignments) -> Iterator[Assignments]:
    """What could move together of a job, whether or not it is on one node."""
    if job.gang:
        yield assignments
    else:
        yield from ((assignment,) for assignment in assignments)


def _columns(
    ledger: Ledger, job: Job, unit: Assignments, held: Sequence[Held]
) -> Sequence[int] | None:
    """The columns of a tenant; None if it spans nodes or has several parts of devices."""
    pool, pods, shape = held[0].device_pool, len(held), job.role(unit[0].role).shape
    granted = held[0].milli(shape)
    is_whole = granted >= WHOLE_GPU_MILLI
    if pool is None or not granted or (pods > 1 and not is_whole):
        return None
    position = held[0].position
    if any(each.device_pool is not pool or each.position != position for each in held):
        return None
    milli, whole = granted * pods, granted // WHOLE_GPU_MILLI * pods if is_whole else 0
    cpu, memory = shape.cpu_millis * pods, shape.memory_bytes * pods
    priority = job.priority if job.gang else ledger.problem.priorities[-1]
    gpu_memory = shape.gpu_memory_bytes * pods
    return position, milli, whole, cpu, memory, gpu_memory, pods, _loss(ledger, job, unit), priority


def _loss(ledger: Ledger, job: Job, unit: Assignments) -> int:
    """What a move throws away, weighed; nothing of what does not stay where it runs anyway."""
    if job.gang:
        stays = unit == job.running or set(unit) == set(job.running)
    else:
        stays = unit[0] in job.running
    weight = ledger.problem.priority_weight[job.priority]
    return weight * job.stop_seconds * held_milli(job, unit) if stays else 0
