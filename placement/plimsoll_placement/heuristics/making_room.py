"""Start jobs that fit nowhere, and replicas that services lack, by moving others, where that pays.

Greedy keeps what runs where it is. Here jobs that it left waiting get room, the important first, as
long as each gains more than those that move for it lose (`score/price.py`), all within the
disruption budget. The moves are taken or left as a whole, by their score.
"""

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain, groupby

from plimsoll_placement.heuristics.greedy import Greedy
from plimsoll_placement.heuristics.keeping import is_whole
from plimsoll_placement.heuristics.kinds import LEFT_OUT
from plimsoll_placement.model import Assignments, Job, Placements, Role
from plimsoll_placement.placing.place import Request, place
from plimsoll_placement.placing.shortfall import below_least, free_index, missing, share_carried
from plimsoll_placement.preemption.departures import Payable
from plimsoll_placement.preemption.moving import Mover, Room
from plimsoll_placement.score.price import lost_beyond, payable_loss, pays, weighed_gain
from plimsoll_placement.state.ledger import Ledger


def with_moves(greedy: Greedy, baseline: Placements) -> Placements | None:
    """What greedy placed, and the jobs that others move for; None if there are none.

    The ledger of greedy changes. Where nothing runs that may move, nobody is asked to.
    """
    waiting = [job for job in greedy.order if _waits(greedy, job)]
    if not waiting or not any(job.is_running and not job.pinned for job in greedy.order):
        return None
    greedy.shrink_again()
    rooms = _Rooms(greedy, baseline)
    found = [rooms.make(job) for job in waiting]
    if not any(found):
        return None
    greedy.grow()
    return dict(greedy.ledger.placed)


def _waits(greedy: Greedy, job: Job) -> bool:
    """Whether a gang has no place, or a service lacks a replica that is of use by itself."""
    placed = greedy.ledger.placed.get(job.name, ())
    of_use = job.gang or sum(below_least(role, placed) for role in job.roles) <= 1
    return of_use and not greedy.is_satisfied(job)


class _Rooms:
    """The search for room for one job after the other."""

    def __init__(self, greedy: Greedy, baseline: Placements) -> None:
        self._ledger, self._problem, self._baseline = greedy.ledger, greedy.problem, baseline
        self._in_vain: set[Hashable] = set()
        pools = chain.from_iterable(greedy.ledger.device_pools.values())
        self._idle = sum(int(pool.milli.sum()) for pool in pools)
        """Milli-GPUs; moves free no more of them, though perhaps of another type."""
        self._allowance = self._left_of_budget()

    def make(self, job: Job) -> bool:
        """Start a job, or replicas that it lacks, by moves, if they pay; whether any does.

        Jobs like one that found no room are not tried.
        """
        kind = job.signature(LEFT_OUT)
        if kind in self._in_vain:
            return False
        if job.gang:
            found = self._start(job, _by_yield(self._ledger, job))
        else:
            found = self._add_replicas(job)
        if not found:
            self._in_vain.add(kind)
        return found

    def _add_replicas(self, job: Job) -> bool:
        """Add the replicas that a service lacks one by one, as far as that goes."""
        found, roles = False, list(job.roles)
        while roles:
            placed = self._ledger.placed.get(job.name, ())
            role = min(roles, key=partial(_turn, placed=placed))
            options = [*_of_one_more(self._ledger, job, role, placed)]
            if missing(role, placed) and self._add_one(job, options):
                found = True
            elif below_least(role, placed):
                break
            else:
                roles.remove(role)
        return found

    def _add_one(self, job: Job, options: Sequence[Sequence[Request]]) -> bool:
        """Add a replica where the last move has left room for it, or else by another."""
        is_free = any(place(self._ledger, each) for requests in options for each in requests)
        return is_free or self._start(job, options)

    def _start(self, job: Job, alike: Iterable[Sequence[Request]]) -> bool:
        """Give a job what is asked for, on the first types that it can have it on."""
        was = self._ledger.placed.get(job.name, ())
        for options in alike:
            if options[0].gpu_milli > self._idle:
                continue
            room = self._mover.room(options, self._payable(options[0]))
            if room is None:
                continue
            counted = self._counted(room)
            if counted <= self._allowance and self._is_paid(job, was, room):
                self._allowance -= counted
                return True
            self._mover.undo()
        return False

    @cached_property
    def _mover(self) -> Mover:
        return Mover(self._ledger)

    def _payable(self, request: Request) -> Payable:
        """The most that others may lose for a request, if its place costs nothing."""
        job, milli = request.job, request.role.yields[request.gpu_type][0]
        second = self._problem.priority_weight[job.priority] * self._problem.weights.horizon_seconds
        return Payable(payable_loss(self._problem, milli * second), job.priority)

    def _is_paid(self, job: Job, was: Assignments, room: Room) -> bool:
        """Whether a job gains more than others lose, be it by stops or by worse places.

        A gang gains what it has not by the baseline, a service what it had not before.
        """
        problem, loss, now = self._problem, 0, self._ledger.placed[job.name]
        if not is_whole(job, now):
            return False
        before = self._baseline.get(job.name, ()) if job.gang else was
        gain = weighed_gain(problem, job, before, now)
        for tenant, there in room.moves:
            loss += tenant.loss
            if tenant.job.gang:
                gain += min(0, weighed_gain(problem, tenant.job, tenant.assignments, there))
        return pays(problem, gain, loss)

    def _counted(self, room: Room) -> int:
        """What counts of the moves against the disruption budget."""
        counted = 0
        for tenant, there in room.moves:
            was = self._baseline.get(tenant.job.name, ())
            counted += lost_beyond(tenant.job, was, there)
            counted -= lost_beyond(tenant.job, was, tenant.assignments)
        return counted

    def _left_of_budget(self) -> float:
        """What the disruption budget leaves beside what greedy's placements throw away."""
        problem, placed = self._problem, self._ledger.placed
        if problem.loss_allowance is None:
            return math.inf
        changes = (
            (job, self._baseline.get(job.name, ()), placed.get(job.name, ()))
            for job in problem.jobs
        )
        counted = (lost_beyond(job, was, now) for job, was, now in changes if was != now)
        return problem.loss_allowance - sum(counted)


def _turn(role: Role, placed: Assignments) -> tuple[bool, float]:
    """A service's role without which the others are of no use first, then who carries least."""
    return not below_least(role, placed), share_carried(role, placed)


def _by_yield(ledger: Ledger, job: Job) -> Iterator[list[Request]]:
    """A gang's requests at its least size; those on types that yield as much come together."""
    role, replicas = job.roles[0], tuple(range(job.roles[0].least))
    kinds = [kind for kind in role.yields if kind in ledger.device_pools]
    for _, alike in groupby(
        sorted(kinds, key=lambda kind: (-role.yields[kind][0], kind)),
        key=lambda kind: role.yields[kind][0],
    ):
        found = [Request(job, role, kind, replicas) for kind in alike]
        if options := [each for each in found if _is_within_limit(ledger, each)]:
            yield options


def _of_one_more(
    ledger: Ledger, job: Job, role: Role, placed: Assignments
) -> Iterator[list[Request]]:
    """One more replica of a service's role, on the type first that carries most."""
    replica = (free_index(role, placed),)
    kinds = [kind for kind in role.yields if kind in ledger.device_pools]
    for kind in sorted(kinds, key=lambda kind: (-role.carries(kind), kind)):
        request = Request(job, role, kind, replica)
        if _is_within_limit(ledger, request):
            yield [request]


def _is_within_limit(ledger: Ledger, request: Request) -> bool:
    room = ledger.queue_room(request.job.queue, request.gpu_type)
    return room is None or request.gpu_milli <= room
