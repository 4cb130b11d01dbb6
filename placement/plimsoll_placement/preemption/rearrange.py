"""Make room for a request by moving what is in its way; if that fails, nothing changes.

Unlike preemption, no job loses its place for good; what has the least work to lose moves first.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from plimsoll_placement.model import Assignments, Job
from plimsoll_placement.placing.place import Request, place
from plimsoll_placement.preemption.evict import in_the_way
from plimsoll_placement.score.worth import held_milli
from plimsoll_placement.state.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Movable:
    """What moves together: a whole gang, or one replica of a service."""

    job: Job
    assignments: Assignments

    @property
    def order(self) -> tuple[int, int, str, int]:
        """Little work to lose before much, then small before large."""
        is_home = set(self.assignments) <= set(self.job.running)
        milli = held_milli(self.job, self.assignments)
        loss = self.job.stop_seconds * milli if is_home else 0
        return loss, milli, self.job.name, self.assignments[0].replica


def place_by_moving(ledger: Ledger, request: Request) -> Assignments | None:
    """Assignments for a request after others moved; None, and no change, if none can."""
    order = sorted(_movable(ledger, request), key=lambda movable: movable.order)
    removed: list[Movable] = []
    assignments, step = None, 1
    while assignments is None and len(removed) < len(order):
        for movable in order[len(removed) : len(removed) + step]:
            ledger.give_back(movable.job, movable.assignments)
            removed.append(movable)
        step *= 2
        assignments = place(ledger, request)
    lost = [
        movable
        for movable in reversed(removed)
        if not ledger.take(movable.job, movable.assignments)
    ]
    if assignments is None or _place_elsewhere(ledger, lost):
        return assignments
    ledger.give_back(request.job, assignments)
    for movable in lost:
        ledger.take(movable.job, movable.assignments)
    return None


def _movable(ledger: Ledger, request: Request) -> Iterator[Movable]:
    """Jobs that hold something that the request could need."""
    near = in_the_way(ledger, request)
    for name, assignments in ledger.placed.items():
        job = ledger.problem.job_by_name[name]
        if job.pinned or name == request.job.name:
            continue
        for part in (assignments,) if job.gang else ((a,) for a in assignments):
            if near(job, part):
                yield Movable(job, part)


def _place_elsewhere(ledger: Ledger, lost: Iterable[Movable]) -> bool:
    """Place all of these elsewhere, gangs at their least size if need be; or else none of them."""
    done: list[tuple[Job, Assignments]] = []
    for movable in sorted(lost, key=lambda movable: -held_milli(movable.job, movable.assignments)):
        assignments = _elsewhere(ledger, movable)
        if assignments is None:
            for job, taken in done:
                ledger.give_back(job, taken)
            return False
        done.append((movable.job, assignments))
    return True


def _elsewhere(ledger: Ledger, movable: Movable) -> Assignments | None:
    job, first = movable.job, movable.assignments[0]
    role, mine = job.role(first.role), movable.assignments
    replicas = tuple(each.replica for each in (mine[: job.size(mine)] if job.gang else mine))
    request = Request(job, role, first.gpu_type, replicas)
    assignments = place(ledger, request)
    if assignments is None and job.gang and len(replicas) > role.least:
        least = tuple(range(role.least))
        return place(ledger, Request(job, role, first.gpu_type, least))
    return assignments
