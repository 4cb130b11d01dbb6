"""What could move to make room: gangs and replicas on one node, as arrays to search all at once.

A gang that spans nodes stays: wherever it went, it would need as many of them again. So does one of
several roles.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

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

    def add(self, job: Job, unit: "_Unit", kind: int) -> None:
        """Add a tenant of a job."""
        number = len(self.tenants)
        self._parts += [(number, device) for device in unit.devices]
        self.tenants.append(Tenant(number, job, unit.assignments, unit.row, unit.loss, kind))
        self._columns.append((*unit.columns, kind))

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

    def others(self, resource: str) -> Ints:
        """What each tenant takes of a resource other than GPUs, CPU and memory."""
        amounts = (dict(each.role.shape.others).get(resource, 0) for each in self.tenants)
        return np.array([*amounts], dtype=np.int64) * self.columns[PODS]

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
    """What could move together, all on devices of one node.

    `columns`: all but its kind; `needs`: the number of what decides where it has room.
    """

    assignments: Assignments
    pool: DevicePool
    row: int
    columns: Sequence[int]
    devices: Sequence[int]
    needs: int

    @property
    def loss(self) -> int:
        """The weighed work that a move throws away."""
        return self.columns[LOSS]


@dataclass(frozen=True, slots=True)
class _Known:
    """The units of a job that had these devices for its assignments."""

    job: Job
    priorities: Sequence[int]
    held: Sequence[tuple[Held, ...]]
    units: Sequence[_Unit]

    def holds(self, ledger: Ledger, job: Job, assignments: Assignments) -> bool:
        """Whether that is still so."""
        return (
            self.job is job
            and self.priorities == ledger.problem.priorities
            and len(self.held) == len(assignments)
            and all(
                ledger.devices_of(job, each) is held
                for each, held in zip(assignments, self.held, strict=True)
            )
        )


class _Units:
    """The units of each job, from one ledger to the next, by the very devices that it holds."""

    def __init__(self) -> None:
        self._known: dict[JobName, _Known] = {}
        self._needs: dict[Hashable, int] = {}

    def turn_to(self, ledger: Ledger) -> None:
        """Forget jobs that have no place any more, and all where few needs are still theirs."""
        if len(self._needs) > 2 * len(self._known):
            self._needs.clear()
            self._known.clear()
        if len(self._known) > len(ledger.placed):
            self._known = {name: self._known[name] for name in ledger.placed.keys() & self._known}

    def of(self, ledger: Ledger, job: Job, assignments: Assignments) -> Sequence[_Unit]:
        """What could move together of a job that may move."""
        known = self._known.get(job.name)
        if known is None or not known.holds(ledger, job, assignments):
            held = [ledger.devices_of(job, each) for each in assignments]
            one_by_one = [((each,), pods) for each, pods in zip(assignments, held, strict=True)]
            units = [(assignments, [*chain(*held)])] if job.gang else one_by_one
            tried = (self._unit(ledger, job, unit, pods) for unit, pods in units)
            found = [each for each in tried if each is not None]
            known = self._known[job.name] = _Known(job, ledger.problem.priorities, held, found)
        return known.units

    def _unit(
        self, ledger: Ledger, job: Job, assignments: Assignments, pods: Sequence[Held]
    ) -> _Unit | None:
        columns = _columns(ledger, job, assignments, pods)
        pool, position = pods[0].device_pool, pods[0].position
        if columns is None or pool is None:
            return None
        devices = [device for pod in pods for device in pod.devices]
        needs = self._needs.setdefault(_needs(job, assignments), len(self._needs))
        return _Unit(assignments, pool, int(pool.rows[position]), columns, devices, needs)


def tables_of(ledger: Ledger) -> Mapping[GpuType, Sequence[Table]]:
    """The tenants of a ledger as they are now, by GPU type."""
    pools = [pool for of_type in ledger.device_pools.values() for pool in of_type]
    tables = {id(pool): Table(pool) for pool in pools}
    memory, kinds = ledger.problem.memory, dict[int, int]()
    units = _Units() if memory is None else memory.part(_Units)
    units.turn_to(ledger)
    for name, assignments in ledger.placed.items():
        job = ledger.problem.job_by_name[name]
        if not job.pinned and not job.companions:
            for unit in units.of(ledger, job, assignments):
                # Numbered as they come, so that nothing depends on the problems before.
                kind = kinds.setdefault(unit.needs, len(kinds))
                tables[id(unit.pool)].add(job, unit, kind)
    by_type: dict[GpuType, list[Table]] = defaultdict(list)
    for table in tables.values():
        if table.tenants:
            table.close()
            by_type[table.pool.gpu_type].append(table)
    return by_type


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


def _needs(job: Job, unit: Assignments) -> Hashable:
    """What decides where a tenant has room."""
    role = job.role(unit[0].role)
    of_role = role.shape, role.eligible, frozenset(role.yields.items()), role.pods_per_replica
    of_job = job.queue, job.required_level, job.spot_percent, job.gang
    return len(unit), unit[0].gpu_type, of_role, of_job


def _loss(ledger: Ledger, job: Job, unit: Assignments) -> int:
    """What a move throws away, weighed; nothing of what does not stay where it runs anyway."""
    if job.gang:
        stays = unit == job.running or set(unit) == set(job.running)
    else:
        stays = unit[0] in job.running
    weight = ledger.problem.priority_weight[job.priority]
    return weight * job.stop_seconds * held_milli(job, unit) if stays else 0
