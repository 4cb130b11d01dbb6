"""Choose what to preempt when much is placed: clear nodes one by one, the cheapest first.

A node is cheap to clear if its jobs are of low priority and little is missing. They yield in the
order of `Victim` until a pod fits; a gang that goes frees its other nodes, too. If that is not
enough for all pods, the nodes are cleared further; if only power is lacking, jobs on other nodes of
the domain yield as well.
"""

from collections.abc import Hashable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.model import WHOLE_GPU_MILLI, Assignments, JobName
from plimsoll_placement.placing.place import Request, place
from plimsoll_placement.preemption.victims import (
    Victim,
    may_give_way,
    reprieve,
    victims_of,
)
from plimsoll_placement.score.worth import WHOLE_PERCENT
from plimsoll_placement.state.device_pool import DevicePool, Ints
from plimsoll_placement.state.ledger import Ledger

MOST_IN_VAIN = 16
"""Give up after this many nodes that could not be cleared."""


class NodePreemption:
    """One attempt to make room for a request."""

    def __init__(self, ledger: Ledger, request: Request, *, reclaim: bool) -> None:
        self.ledger, self.request, self.reclaim = ledger, request, reclaim
        self.removed: list[Victim] = []

    def assignments(self) -> Assignments | None:
        """Assignments after preempting others; None, and no change, if that is not enough.

        Then `removed` is what these have lost.
        """
        most = self.ledger.numbers.get(self._key(spot=self.request.job.spot_percent > 0))
        if not self._could.any() or (most is not None and most < self.request.pods):
            return None
        found = self._assignments() if self._frees_quota() else None
        self.removed = reprieve(self.ledger, self.removed)
        return found

    def _assignments(self) -> Assignments | None:
        found = place(self.ledger, self.request) if self.removed else None
        in_vain = 0
        for rows in self._fields():
            for fully in (False, True):
                if found is not None or in_vain > MOST_IN_VAIN:
                    return found
                in_vain += self._clear_all(rows, fully=fully)
                found = place(self.ledger, self.request)
        return found

    def _clear_all(self, rows: list[int], *, fully: bool) -> int:
        """Clear nodes until there is room for all pods; return how many could not be cleared."""
        ready, in_vain, pods = 0, 0, self.request.pods
        for row in rows:
            room = self._clear(row, pods - ready, fully=fully)
            ready, in_vain = ready + room, in_vain + (not room)
            if ready >= pods or in_vain > MOST_IN_VAIN:
                break
        return in_vain

    def _frees_quota(self) -> bool:
        """Preempt jobs of a queue at its limit until the request is within it."""
        ledger, request = self.ledger, self.request
        victims = iter(())
        while (room := ledger.queue_room(request.job.queue, request.gpu_type)) is not None:
            if room >= request.gpu_milli:
                return True
            if not self.removed:
                victims = iter(sorted(self._in_queue(), key=self._order))
            victim = next(victims, None)
            if victim is None:
                return False
            self._remove(victim)
        return True

    def _in_queue(self) -> Iterator[Victim]:
        """What could yield in the queues whose limits apply to the request."""
        problem, request = self.ledger.problem, self.request
        limited = {
            queue
            for queue in problem.queue_chain.get(request.job.queue, ())
            if request.gpu_type in problem.queue_by_name[queue].limit
        }
        for name, assignments in list(self.ledger.placed.items()):
            job = problem.job_by_name[name]
            shares = not limited.isdisjoint(problem.queue_chain.get(job.queue, ()))
            if shares and any(each.gpu_type == request.gpu_type for each in assignments):
                yield from self._of(job.name)

    def _of(self, name: JobName) -> Iterator[Victim]:
        ledger = self.ledger
        job = ledger.problem.job_by_name[name]
        assignments = ledger.placed.get(job.name, ())
        if assignments and may_give_way(self.request, job, assignments, reclaim=self.reclaim):
            yield from victims_of(ledger, self.request, job, reclaim=self.reclaim)

    def _order(self, victim: Victim) -> tuple[object, ...]:
        return victim.order(reclaim=self.reclaim)

    def _remove(self, victim: Victim) -> None:
        self.ledger.give_back(victim.job, victim.assignments)
        self.removed.append(victim)

    def _clear(self, row: int, wanted: int, *, fully: bool) -> int:
        """Preempt from one node until `wanted` pods fit; return how many fit.

        For more than the first, unless `fully`, nothing of a higher priority yields than for that
        one.
        """
        highest: int | None = None
        while (room := self._room(row)) < wanted:
            victim = min(self._near(row), key=self._order, default=None)
            if victim is None:
                break
            is_due = highest is not None and victim.job.priority <= highest
            if room and not fully and not is_due:
                break
            self._remove(victim)
            highest = max(victim.job.priority, victim.job.priority if highest is None else highest)
        return room

    def _near(self, row: int) -> Iterator[Victim]:
        """What could yield on a node; if only power is lacking, all that shares its power."""
        rows = [row]
        power, shape = self.ledger.power, self.request.role.shape
        if self._devices_room(row) > power.room_of(row, shape):
            rows = [each for each in power.sharing(row) if self._could[-1, each]]
        names = dict.fromkeys(name for each in rows for name in self.ledger.occupancy.on(each))
        return (each for name in names for each in self._of(name))

    def _room(self, row: int) -> int:
        power = self.ledger.power.room_of(row, self.request.role.shape)
        return min(power, self._devices_room(row))

    def _devices_room(self, row: int) -> int:
        """How many pods a node would have room for if there were power."""
        role = self.request.role
        rooms = [
            self.ledger.room_at(device_pool, position, role)
            for device_pool, position in self.ledger.pool_rows(self.request.gpu_type, row)
        ]
        return sum(rooms)

    def _fields(self) -> Iterator[list[int]]:
        """The nodes to clear, the cheapest first; one domain at a time where that is required.

        Where only a share may be on spot nodes, these may be of no use: then the others are tried.
        """
        percent = self.request.job.spot_percent
        if percent:
            yield from self._fields_on(spot=True)
        if percent < WHOLE_PERCENT:
            yield from self._fields_on(spot=False)

    def _key(self, *, spot: bool) -> Hashable:
        """By what it is known how many pods there would be room for if all that could yield did."""
        role = self.request.role
        return "could yield", self._floor, self.request.gpu_type, role.shape, role.eligible, spot

    def _fields_on(self, *, spot: bool) -> Iterator[list[int]]:
        costs = (self._costs(device_pool, spot=spot) for device_pool in self._device_pools())
        parts = [part for part in costs if part is not None]
        most = sum(int(rooms.sum()) for _, rooms, _, _ in parts)
        self.ledger.numbers[self._key(spot=spot)] = most
        if not parts:
            return
        rows, rooms, priorities, missing = (
            np.concatenate(each) for each in zip(*parts, strict=True)
        )
        order = np.lexsort((self.ledger.rank[rows], missing, priorities))
        rows, rooms = rows[order], rooms[order]
        level, pods = self.request.job.required_level, self.request.pods
        if level is not None:
            for part in _by_domain(self.ledger.domains(level)[rows], rooms, pods):
                yield rows[part].tolist()
        elif most >= pods:
            yield rows.tolist()

    def _device_pools(self) -> Iterator[DevicePool]:
        for device_pool in self.ledger.device_pools.get(self.request.gpu_type, ()):
            if device_pool.granted_milli(self.request.role.shape.gpu_milli) is not None:
                yield device_pool

    def _costs(
        self, device_pool: DevicePool, *, spot: bool
    ) -> tuple[Ints, Ints, Ints, Ints] | None:
        """Nodes that could be cleared: rows, pods, highest priority to yield, milli missing."""
        ledger, request = self.ledger, self.request
        granted = device_pool.granted_milli(request.role.shape.gpu_milli) or 1
        could = self._could[:, device_pool.rows]
        room = ledger.room(device_pool, request.role, spot=spot)
        rooms = np.where(could[-1] > 0, (device_pool.milli + could[-1]) // granted, room)
        usable = ledger.may_start(device_pool, request.role, spot=spot)
        keep = np.flatnonzero(usable & (rooms > 0) & self._is_powered(device_pool.rows))
        if not len(keep):
            return None
        missing = np.where(room > 0, 0, np.maximum(granted - device_pool.milli, 1))[keep]
        priorities = (could[:, keep] < missing).sum(axis=0)
        priorities[missing == 0] = -1
        return device_pool.rows[keep], rooms[keep], priorities, missing

    @property
    def _floor(self) -> int | None:
        """The priority below which all may yield; None if it does not matter."""
        return None if self.reclaim else self.request.job.priority

    @cached_property
    def _could(self) -> Ints:
        """The milli-GPUs that could be freed on each node, by preempting up to each priority."""
        return self.ledger.occupancy.could(self._floor)

    @cached_property
    def _could_power(self) -> Ints:
        """The milliwatts that each node's domains would have left if all that could yield did."""
        ledger, floor = self.ledger, self._floor

        def make() -> Ints:
            left = ledger.power.left_without(ledger.occupancy.could_draw(floor))
            return left[ledger.power.domains].min(axis=1)

        return ledger.occupancy.derived(("power", floor), make)

    def _is_powered(self, rows: Ints) -> NDArray[np.bool_]:
        """Whether each row would power a pod if everything that could yield in its domains did."""
        power = self.ledger.power
        if not power.names:
            return np.ones(len(rows), dtype=np.bool_)
        needed = self.request.role.shape.draw_milli * power.busy[rows] // WHOLE_GPU_MILLI
        return self._could_power[rows] >= needed


def _by_domain(domains: Ints, rooms: Ints, pods: int) -> list[Ints]:
    """The places of each domain with room for all the pods; first the one that has it soonest."""
    enough: list[tuple[int, int, Ints]] = []
    for domain in np.unique(domains):
        at = np.flatnonzero(domains == domain)
        filled = np.cumsum(rooms[at])
        if filled[-1] >= pods:
            enough.append((int(at[int(np.searchsorted(filled, pods))]), int(domain), at))
    return [at for _, _, at in sorted(enough, key=lambda each: each[0])]
