"""Who must give way so that a job fits? The least important, with the least work thrown away.

What can give way is put in the order in which it should. The shortest prefix of that order after
which the job fits is removed; then, from the most important on, whatever was removed without need
comes back. Whether the removed jobs find another place is decided later, in their turn.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from plimsoll_placement.ledger import Ledger
from plimsoll_placement.problem import Assignment, GpuType, Job, QueueName
from plimsoll_placement.score import held_milli
from plimsoll_placement.seats import Request, seat
from plimsoll_placement.stays import moves_off_closed, spot_share_holds

Seats = tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class Sacrifice:
    """Replicas that a job could give up: those beyond its least size, or all."""

    job: Job
    assignments: Seats
    whole: bool

    @property
    def order(self) -> tuple[bool, int, int, int, str]:
        """Shrinking goes before stopping, low priority before high, little loss before much."""
        loss = self.job.restart_seconds * held_milli(self.job, self.job.running)
        return self.whole, self.job.priority, loss, -self.job.sequence, self.job.name


def seat_by_eviction(ledger: Ledger, request: Request, *, reclaim: bool) -> Seats | None:
    """Seats for a request after others gave way; None, and nothing changed, if none suffice.

    `reclaim`: the request is within its queue's guarantee, and takes it back from whoever holds
    more than theirs, of whatever priority.
    """
    order = sorted(_sacrifices(ledger, request, reclaim=reclaim), key=lambda s: s.order)
    removed: list[Sacrifice] = []
    step = 1
    while len(removed) < len(order):
        for sacrifice in order[len(removed) : len(removed) + step]:
            ledger.give_back(sacrifice.job, sacrifice.assignments)
            removed.append(sacrifice)
        step *= 2
        seats = seat(ledger, request)
        if seats is not None:
            _reprieve(ledger, removed)
            return seats
    _reprieve(ledger, removed)
    return None


def _reprieve(ledger: Ledger, removed: list[Sacrifice]) -> None:
    """Give back, the most important first, what fits again; a part only where the rest stands."""
    for sacrifice in reversed(removed):
        standing = sacrifice.whole or sacrifice.job.name in ledger.placed
        if standing:
            ledger.take(sacrifice.job, sacrifice.assignments)


def _sacrifices(ledger: Ledger, request: Request, *, reclaim: bool) -> Iterable[Sacrifice]:
    near = in_the_way(ledger, request)
    for name, seats in ledger.placed.items():
        job = ledger.problem.job_by_name[name]
        if job.pinned or name == request.job.name:
            continue
        may_stop = reclaim or job.priority < request.job.priority
        may_shrink = (may_stop or job.priority == request.job.priority) and _has_spare(job, seats)
        if not (may_shrink or may_stop) or not near(job, seats):
            continue
        beyond = _beyond_least(ledger, job, seats)
        if beyond and may_shrink:
            yield Sacrifice(job, beyond, whole=False)
        if may_stop and _may_stop(ledger, request, job, seats, reclaim=reclaim):
            yield Sacrifice(job, tuple(a for a in seats if a not in beyond), whole=True)


def _has_spare(job: Job, seats: Seats) -> bool:
    return job.gang and len(seats) > job.roles[0].least


def _beyond_least(ledger: Ledger, job: Job, seats: Seats) -> Seats:
    """What a gang could do without; not on closed nodes, where it cannot start with fewer."""
    if not job.gang or moves_off_closed(ledger.problem, job, seats):
        return ()
    kept = seats[: job.roles[0].least]
    if not spot_share_holds(ledger.problem, job, kept):
        return ()
    return seats[len(kept) :]


def _may_stop(
    ledger: Ledger, request: Request, victim: Job, seats: Seats, *, reclaim: bool
) -> bool:
    """Whether a victim may be stopped: lower in priority, or (to reclaim) beyond its guarantee."""
    if victim.priority >= request.job.priority and not reclaim:
        return False
    mine = set(ledger.problem.queue_chain.get(request.job.queue, ()))
    if reclaim and victim.queue in mine and victim.priority >= request.job.priority:
        return False
    shared = mine if victim.roles and request.gpu_type == seats[0].gpu_type else set[QueueName]()
    return not any(
        _is_owed(ledger, queue, seats[0].gpu_type)
        for queue in ledger.problem.queue_chain.get(victim.queue, ())
        if queue not in shared
    )


def _is_owed(ledger: Ledger, queue: QueueName, gpu_type: GpuType) -> bool:
    """Whether a queue holds no more than its guarantee of a type."""
    guaranteed = ledger.problem.queue_by_name[queue].guaranteed.get(gpu_type, 0)
    return 0 < ledger.queue_used[queue, gpu_type] <= guaranteed


def in_the_way(ledger: Ledger, request: Request) -> Callable[[Job, Seats], bool]:
    """A test of whether a job's going could help: same nodes, same limited queue, same power."""
    near_rows, index = _near_rows(ledger, request), ledger.problem.node_index
    limited = {
        queue
        for queue in ledger.problem.queue_chain.get(request.job.queue, ())
        if request.gpu_type in ledger.problem.queue_by_name[queue].limit
    }

    def near(job: Job, seats: Seats) -> bool:
        if any(near_rows[index[name]] for a in seats for name in a.nodes if name in index):
            return True
        chain = ledger.problem.queue_chain.get(job.queue, ())
        return not limited.isdisjoint(chain) and any(a.gpu_type == request.gpu_type for a in seats)

    return near


def _near_rows(ledger: Ledger, request: Request) -> bytes:
    """For each node whether the request could use it, or power that it shares with such nodes."""
    eligible, power = ledger.eligible(request.role.eligible), ledger.power
    near = np.zeros(len(eligible), dtype=np.bool_)
    for bank in ledger.banks.get(request.gpu_type, ()):
        near[bank.rows] = eligible[bank.rows]
    shared = np.zeros(len(power.left), dtype=np.bool_)
    shared[power.domains[near]] = True
    shared[-1] = False
    return (near | shared[power.domains].any(axis=1)).tobytes()
