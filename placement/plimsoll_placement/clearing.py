"""Who must give way, where much is placed: nodes are cleared one by one, the cheapest first.

A node is cheap to clear where those on it are of low priority and little is missing. Its jobs give
way in the order of `Sacrifice` until a pod fits; a gang that goes leaves its other nodes free, too.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.bank import Bank, Ints
from plimsoll_placement.ledger import Ledger
from plimsoll_placement.problem import WHOLE_GPU_MILLI, JobName
from plimsoll_placement.sacrifice import Sacrifice, Seats, may_give_way, reprieve, sacrifices_of
from plimsoll_placement.seats import Request, seat

MOST_IN_VAIN = 16
"""So many nodes may turn out not to be cleared."""


class Clearing:
    """One attempt to make room for a request."""

    def __init__(self, ledger: Ledger, request: Request, *, reclaim: bool) -> None:
        self.ledger, self.request, self.reclaim = ledger, request, reclaim
        self.removed: list[Sacrifice] = []

    def seats(self) -> Seats | None:
        """Seats after others gave way; None, and nothing changed, if that is not enough."""
        found = self._seats() if self._frees_quota() else None
        reprieve(self.ledger, self.removed)
        return found

    def _seats(self) -> Seats | None:
        found = seat(self.ledger, self.request) if self.removed else None
        if found is not None:
            return found
        ready, in_vain = 0, 0
        for row in self._rows():
            room = self._clear(row)
            ready, in_vain = ready + room, in_vain + (not room)
            if ready >= self.request.pods:
                found = seat(self.ledger, self.request)
                if found is not None:
                    return found
            if in_vain > MOST_IN_VAIN:
                return None
        return None

    def _frees_quota(self) -> bool:
        """Let those of a queue that is at its limit give way until the request is within it."""
        ledger, request = self.ledger, self.request
        victims = iter(())
        while (room := ledger.queue_room(request.job.queue, request.gpu_type)) is not None:
            if room >= request.gpu_milli:
                return True
            if not self.removed:
                victims = iter(sorted(self._in_queue(), key=lambda each: each.order))
            victim = next(victims, None)
            if victim is None:
                return False
            self._remove(victim)
        return True

    def _in_queue(self) -> Iterator[Sacrifice]:
        """What could give way in the queues whose limits the request is under."""
        problem, request = self.ledger.problem, self.request
        limited = {
            queue
            for queue in problem.queue_chain.get(request.job.queue, ())
            if request.gpu_type in problem.queue_by_name[queue].limit
        }
        for name, seats in list(self.ledger.placed.items()):
            job = problem.job_by_name[name]
            if seats[0].gpu_type == request.gpu_type and not limited.isdisjoint(
                problem.queue_chain.get(job.queue, ())
            ):
                yield from self._of(job.name)

    def _of(self, name: JobName) -> Iterator[Sacrifice]:
        ledger = self.ledger
        job = ledger.problem.job_by_name[name]
        seats = ledger.placed.get(job.name, ())
        if seats and may_give_way(self.request, job, seats, reclaim=self.reclaim):
            yield from sacrifices_of(ledger, self.request, job, reclaim=self.reclaim)

    def _remove(self, victim: Sacrifice) -> None:
        self.ledger.give_back(victim.job, victim.assignments)
        self.removed.append(victim)

    def _clear(self, row: int) -> int:
        """Let those on a node give way until a pod fits; how many fit then."""
        while not (room := self._room(row)):
            on_it = (each for name in self.ledger.tenancy.on(row) for each in self._of(name))
            victim = min(on_it, key=lambda each: each.order, default=None)
            if victim is None:
                return 0
            self._remove(victim)
        return room

    def _room(self, row: int) -> int:
        role = self.request.role
        rooms = [
            self.ledger.room_at(bank, position, role)
            for bank, position in self.ledger.bank_rows(self.request.gpu_type, row)
        ]
        return max(rooms, default=0)

    def _rows(self) -> list[int]:
        """The nodes to clear, the cheapest first; only of one domain where that is required."""
        parts = [part for bank in self._banks() if (part := self._costs(bank)) is not None]
        if not parts:
            return []
        rows, rooms, priorities, missing = (
            np.concatenate(each) for each in zip(*parts, strict=True)
        )
        order = np.lexsort((self.ledger.rank[rows], missing, priorities))
        rows, rooms = rows[order], rooms[order]
        level = self.request.job.required_level
        if level is not None:
            rows = _first_domain(self.ledger.domains(level)[rows], rows, rooms, self.request.pods)
        elif int(rooms.sum()) < self.request.pods:
            return []
        return [int(row) for row in rows]

    def _banks(self) -> Iterator[Bank]:
        for bank in self.ledger.banks.get(self.request.gpu_type, ()):
            if bank.granted_milli(self.request.role.shape.gpu_milli) is not None:
                yield bank

    def _costs(self, bank: Bank) -> tuple[Ints, Ints, Ints, Ints] | None:
        """Nodes that could be cleared: rows, pods, highest priority to give way, milli missing."""
        ledger, request = self.ledger, self.request
        granted = bank.granted_milli(request.role.shape.gpu_milli) or 1
        free = bank.whole * WHOLE_GPU_MILLI if granted >= WHOLE_GPU_MILLI else bank.milli
        milli = ledger.tenancy.milli[:, bank.rows]
        highest = len(milli) if self.reclaim else ledger.tenancy.rank[request.job.priority] + 1
        could = np.cumsum(milli[:highest], axis=0)
        rooms = (free + could[-1]) // granted
        usable = ledger.eligible(request.role.eligible)[bank.rows] & ledger.open[bank.rows]
        if not request.job.spot_percent:
            usable &= ~ledger.spot[bank.rows]
        keep = np.flatnonzero(usable & (rooms > 0) & self._is_powered(bank, could[-1]))
        if not len(keep):
            return None
        missing = np.maximum(granted - free[keep], 0)
        priorities = (could[:, keep] < missing).sum(axis=0)
        priorities[missing == 0] = -1
        return bank.rows[keep], rooms[keep], priorities, missing

    def _is_powered(self, bank: Bank, could: Ints) -> NDArray[np.bool_]:
        """Whether a pod had power on each row if what could go there went."""
        power, shape = self.ledger.power, self.request.role.shape
        left = power.left[power.domains[bank.rows]].min(axis=1)
        busy = power.busy[bank.rows]
        return left + could * busy // WHOLE_GPU_MILLI >= shape.gpu_milli * busy // WHOLE_GPU_MILLI


def _first_domain(domains: Ints, rows: Ints, rooms: Ints, pods: int) -> Ints:
    """The rows of the domain that, in their order, is the first to have room for so many pods."""
    rows_of = [(np.flatnonzero(domains == domain)) for domain in np.unique(domains)]
    enough: list[tuple[int, int]] = []
    for number, at in enumerate(rows_of):
        filled = np.cumsum(rooms[at])
        if len(filled) and filled[-1] >= pods:
            enough.append((int(at[int(np.searchsorted(filled, pods))]), number))
    return rows[rows_of[min(enough)[1]]] if enough else rows[:0]
