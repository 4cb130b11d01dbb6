"""An immediate plan: running jobs stay, waiting jobs are placed in order, the rest grows.

It always answers and never breaks a rule. It neither weighs one waiting job against another nor
moves a running job: to make room is up to `making_room.py`, all else to the model in `cpsat/`.
"""

import heapq
import itertools
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from itertools import chain

from plimsoll_placement.entitlements import admission_order
from plimsoll_placement.heuristics.among_equals import best_first, place_again
from plimsoll_placement.heuristics.keeping import Keeping, is_whole
from plimsoll_placement.heuristics.kinds import Claim, Kinds
from plimsoll_placement.model import Assignments, GpuType, Job, JobName, Role
from plimsoll_placement.placing.options import price_of, requests
from plimsoll_placement.placing.place import Request, place
from plimsoll_placement.placing.retention import moves_off_closed
from plimsoll_placement.placing.shortfall import (
    below_least,
    free_index,
    lacking_load,
    missing,
    share_carried,
)
from plimsoll_placement.preemption.evict import place_by_eviction
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.price import could_pay, pays, weighed_gain, weighed_loss
from plimsoll_placement.score.worth import (
    WHOLE_PERCENT,
    held_milli,
    served_milli,
    worth,
)
from plimsoll_placement.state.ledger import Ledger


def greedy_placements(problem: Problem) -> dict[JobName, Assignments]:
    """Sound placements for as many jobs as greedy finds room for."""
    return Greedy.over_what_runs(problem).complete()


class Greedy:
    """One greedy run over a ledger, which may be empty or already hold many placements."""

    def __init__(self, problem: Problem, ledger: Ledger) -> None:
        self.problem = problem
        self.ledger = ledger
        self.weights = problem.priority_weight
        self.order = sorted(problem.jobs, key=admission_order)
        self.ages = [tuple(peers) for _, peers in itertools.groupby(self.order, key=_age)]
        """The same by age: jobs that are equal in all but their names."""
        memory = problem.memory
        self._kinds = Kinds() if memory is None else memory.part(Kinds)
        self._unplaceable: dict[Hashable, None] = {}
        """Kinds of requests that found no room, in the order in which they were tried."""
        self._grown: list[tuple[Job, Assignments]] = []

    @classmethod
    def over_what_runs(cls, problem: Problem, number: int = 0) -> "Greedy":
        """A run over the ledger of a number, which holds what runs and may stay."""
        memory = problem.memory
        kept = Keeping() if memory is None else memory.part(Keeping)
        found = cls(problem, kept.ledger(problem, number))
        if number == 0 and len(found._kinds) > 2 * len(problem.jobs):
            found._kinds.forget()
        return found

    def complete(self) -> dict[JobName, Assignments]:
        """Claim guarantees, admit by priority (where due, at the expense of others), then grow."""
        self._claim_guarantees()
        for of_priority in self._by_priority():
            self.place_all(of_priority, Claim.PRIORITY)
        place_again(self.ledger, [job for job in self.order if not job.is_running])
        self.grow()
        return dict(self.ledger.placed)

    def complete_fairly(self) -> Iterator[dict[JobName, Assignments]]:
        """What is nearly the best plan, completed at nobody's expense; then priority by priority.

        Of each priority those go first that keep their queues in their fair shares: they count
        twice as much. To make room by priority is coarser than what the plan is made of, and may
        lose more than it gains.
        """
        self._claim_guarantees()
        self._fill_fairly()
        yield dict(self.ledger.placed)
        for of_priority in self._by_priority():
            self.place_all(of_priority, Claim.PRIORITY)
            self._fill_fairly()
            yield dict(self.ledger.placed)

    def _fill_fairly(self) -> None:
        for of_priority in self._by_priority():
            self.place_fairly(chain.from_iterable(of_priority))
            self.place_all(of_priority, Claim.FREE)
        self.grow()

    def _by_priority(self) -> Iterator[list[tuple[Job, ...]]]:
        """The ages of each priority, highest first."""
        for _, ages in itertools.groupby(self.ages, key=lambda peers: peers[0].priority):
            yield list(ages)

    def _claim_guarantees(self) -> None:
        """Place jobs of queues that are guaranteed something, as far as it goes."""
        chains, queues = self.problem.queue_chain, self.problem.queue_by_name
        owed = {
            name
            for name, chain_ in chains.items()
            if any(queues[each].guaranteed for each in chain_)
        }
        mine = (tuple(job for job in peers if job.queue in owed) for peers in self.ages)
        self.place_all(mine, Claim.GUARANTEE)

    def place_fairly(self, jobs: Iterable[Job]) -> None:
        """Place those of the jobs that have room, and keep their queues in their fair shares."""
        for job in jobs:
            if not self.is_satisfied(job):
                within = partial(is_within_fair_share, self.ledger, job)
                self.place_if(job, Claim.FREE, within)

    def fill(self) -> dict[JobName, Assignments]:
        """Give what is free to waiting jobs, in order, and the rest to jobs that can grow."""
        self.place_all(self.ages, Claim.FREE)
        self.grow()
        return dict(self.ledger.placed)

    def only_due(self) -> dict[JobName, Assignments]:
        """Stop nothing but for guarantees and overdue jobs; others that wait get what is free."""
        self._claim_guarantees()
        overdue = (tuple(job for job in peers if job.overdue) for peers in self.ages)
        self.place_all(overdue, Claim.PRIORITY)
        self.place_all(self.ages, Claim.FREE)
        self._grow(job for job in self.order if not job.is_running)
        return dict(self.ledger.placed)

    def place_all(self, ages: Iterable[tuple[Job, ...]], claim: Claim) -> None:
        """Place those of the jobs that lack anything, one age after the other.

        Within an age the best go first, but by name where guarantees are claimed: so they count.
        """
        for peers in ages:
            waiting = [job for job in peers if not self.is_satisfied(job)]
            if len(waiting) > 1 and claim is not Claim.GUARANTEE:
                waiting = best_first(self.ledger, waiting)
            for job in waiting:
                self.place(job, claim)

    def is_satisfied(self, job: Job) -> bool:
        """Whether a job needs nothing more before the others have had their turn."""
        placed = self.ledger.placed.get(job.name, ())
        if job.pinned or job.gang:
            return job.pinned or bool(placed)
        return all(missing(role, placed) == 0 for role in job.roles)

    def place(self, job: Job, claim: Claim) -> None:
        """Place a job: a gang at its least size, a service up to what is wanted."""
        if job.gang:
            self._place_gang(job, claim)
        else:
            self._place_replicas(job, claim)

    def place_if(self, job: Job, claim: Claim, accept: Callable[[], bool]) -> None:
        """Place a job, and take back what that adds unless it is accepted."""
        before, known = self.ledger.placed.get(job.name, ()), len(self._unplaceable)
        self.place(job, claim)
        added = [each for each in self.ledger.placed.get(job.name, ()) if each not in before]
        if added and not accept():
            self.ledger.give_back(job, added)
            while len(self._unplaceable) > known:  # there may be room again for what failed beside
                self._unplaceable.popitem()

    def _place_gang(self, job: Job, claim: Claim) -> None:
        """Place a gang on its best type; no job is preempted merely to avoid crossing domains."""
        role = job.roles[0]
        kind = claim, self._kinds.number(job, role), role.least, tuple(role.yields)
        if kind in self._unplaceable:
            return
        for request in requests(self.ledger, job, partial(self._may_fit, claim=claim)):
            if self._place(request, claim) is not None:
                return
        if claim is not Claim.GUARANTEE:  # what is owed changes with every job
            self._unplaceable[kind] = None

    def _place_replicas(self, job: Job, claim: Claim) -> None:
        """First the least count of every role, without which none is of use; then the rest."""
        for lacking in (below_least, missing):
            self._place_while(lacking, job, claim)
        self._whole_or_nothing(job)

    def _place_while(
        self, lacking: Callable[[Role, Assignments], int], job: Job, claim: Claim
    ) -> None:
        """Place replica by replica, always of the role that carries the least of its due share."""
        roles = list(job.roles)
        while roles:
            placed = self.ledger.placed.get(job.name, ())
            role = min(roles, key=lambda role: share_carried(role, placed))
            if not lacking(role, placed) or not self._place_replica(job, role, claim):
                roles.remove(role)

    def _place_replica(self, job: Job, role: Role, claim: Claim) -> bool:
        placed = self.ledger.placed.get(job.name, ())
        replicas = (free_index(role, placed),)
        kinds = [kind for kind in role.yields if kind in self.ledger.device_pools]
        found = [Request(job, role, kind, replicas) for kind in kinds]
        fitting = [request for request in found if self._may_fit(request, claim)]
        cheapest_first = sorted(fitting, key=partial(self._price_of_load, placed=placed))
        return any(self._place(request, claim) is not None for request in cheapest_first)

    def _price_of_load(self, request: Request, placed: Assignments) -> tuple[float, int, GpuType]:
        """What one more replica costs for what it adds, then how much that is; small is good."""
        role, kind = request.role, request.gpu_type
        adds = max(min(role.carries(kind), max(lacking_load(role, placed), 1)), 1)
        price = price_of(self.ledger, request.job, role, kind, role.pods_per_replica)
        return price / adds, -adds, kind

    def _whole_or_nothing(self, job: Job) -> None:
        if not is_whole(job, self.ledger.placed.get(job.name, ())):
            self.ledger.clear(job)

    def _may_fit(self, request: Request, claim: Claim) -> bool:
        """Whether there may be room for a request: it is due, and nothing like it has failed."""
        if claim is Claim.GUARANTEE and not self.ledger.within_guarantee(
            request.job.queue, request.gpu_type, request.gpu_milli
        ):
            return False
        return self._kinds.of(request, claim) not in self._unplaceable

    def _place(self, request: Request, claim: Claim) -> Assignments | None:
        if not self._may_fit(request, claim):
            return None
        assignments = place(self.ledger, request)
        if assignments is None and claim is not Claim.FREE and not request.inside:
            reclaim = claim is Claim.GUARANTEE
            assignments = place_by_eviction(self.ledger, request, reclaim=reclaim)
        if assignments is None:
            self._unplaceable[self._kinds.of(request, claim)] = None
        return assignments

    def grow(self) -> None:
        """Give what is left, step by step, to the gangs that make the most of it."""
        self._grow(self.order)

    def shrink_again(self) -> None:
        """Take back what gangs have grown by, for jobs that wait."""
        while self._grown:
            self.ledger.give_back(*self._grown.pop())
        self._unplaceable.clear()

    def _grow(self, growing: Iterable[Job]) -> None:
        jobs = {job.name: job for job in growing}
        heap = [(*step, name) for name, job in jobs.items() for step in self._next_step(job)]
        heapq.heapify(heap)
        while heap:
            _, wanted, name = heapq.heappop(heap)
            job = jobs[name]
            grown = self._grow_to(job, wanted)
            if grown is False:
                grown = self._leap_beyond(job, wanted)
            if grown:
                for step in self._next_step(job):
                    heapq.heappush(heap, (*step, name))

    def _next_step(self, job: Job) -> Iterator[tuple[float, int]]:
        """A gang's next larger count, with what each added GPU would lose (negative: gain)."""
        placed = self.ledger.placed.get(job.name, ())
        if not job.gang or job.pinned or not placed or moves_off_closed(self.problem, job, placed):
            return
        role = job.roles[0]
        size = job.size(placed)
        larger = [n for n in role.counts if n > size]
        if not larger:
            return
        yields, now = role.yields[placed[0].gpu_type], served_milli(job, placed)
        gain = self.weights[job.priority] * (yields[role.counts.index(larger[0])] - now)
        if gain > 0:
            yield -gain / (larger[0] - size) / max(role.shape.gpu_milli, 1), larger[0]

    def _leap_beyond(self, job: Job, wanted: int) -> bool:
        """Grow a gang that has to stop for it by twice as much, and so on; whether it was done.

        A single step may not make up for what a stop throws away.
        """
        placed, role = self.ledger.placed[job.name], job.roles[0]
        lost = self.weights[job.priority] * job.stop_seconds * held_milli(job, job.running)
        if not lost or placed != job.running:
            return False
        size, yields = job.size(placed), role.yields[placed[0].gpu_type]
        most, now = role.counts[-1], served_milli(job, placed)
        while wanted < most:
            wanted = min(most, 2 * wanted - size)
            index = bisect_right(role.counts, wanted) - 1
            if could_pay(self.problem, job, yields[index] - now, lost):
                grown = self._grow_to(job, role.counts[index])
                if grown is not False:
                    return bool(grown)
        return False

    def _grow_to(self, job: Job, wanted: int) -> bool | None:
        """Add replicas up to `wanted`: whether it was worth it, None if there is no room."""
        role, before = job.roles[0], self.ledger.placed[job.name]
        more = tuple(range(job.size(before), wanted))
        request = Request(job, role, before[0].gpu_type, more)
        # Where the other replicas may be depends on where the gang is.
        depends = job.required_level is not None or 0 < job.spot_percent < WHOLE_PERCENT
        kind = (self._kinds.of(request, Claim.FREE), job.name if depends else "")
        added = None if kind in self._unplaceable else place(self.ledger, request)
        if added is None:
            self._unplaceable[kind] = None
            return None
        after = (*before, *added)
        loss = weighed_loss(self.problem, job, before, after)
        gain = weighed_gain(self.problem, job, before, after)
        weight = self.weights[job.priority]
        worth_before = worth(self.problem, job, before, weight)
        is_better = worth(self.problem, job, after, weight) > worth_before
        if is_better and pays(self.problem, gain, loss):
            self._grown.append((job, added))
            return True
        self.ledger.give_back(job, added)
        return False


def is_within_fair_share(ledger: Ledger, job: Job) -> bool:
    """Whether no queue of the job's holds more than its fair share of a type that the job has."""
    kinds = {assignment.gpu_type for assignment in ledger.placed[job.name]}
    queues = (
        ledger.problem.queue_by_name[name] for name in ledger.problem.queue_chain.get(job.queue, ())
    )
    return all(
        ledger.queue_used[queue.name, kind] <= queue.fair[kind]
        for queue in queues
        for kind in kinds & queue.fair.keys()
    )


def _age(job: Job) -> tuple[int, bool, int, int]:
    """The admission order without the name: jobs that are equal in it came at the same time."""
    return admission_order(job)[:-1]
