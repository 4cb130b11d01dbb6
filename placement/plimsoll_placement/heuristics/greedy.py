"""An immediate plan: running jobs stay, waiting jobs are placed in order, the rest grows.

It always answers and never breaks a rule. It neither weighs one waiting job against another nor
moves a running job: to make room is up to `making_room.py`, all else to the model in `cpsat/`.
"""

import heapq
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator
from enum import Enum, auto
from typing import Final

from plimsoll_placement.entitlements import admission_order
from plimsoll_placement.heuristics.among_equals import best_first, place_again
from plimsoll_placement.heuristics.keeping import Keeping, is_whole
from plimsoll_placement.model import Assignments, GpuType, Job, JobName, LeftOut, Role
from plimsoll_placement.placing.options import requests
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
from plimsoll_placement.score.price import pays, weighed_gain, weighed_loss
from plimsoll_placement.score.worth import (
    WHOLE_PERCENT,
    served_milli,
    worth,
)
from plimsoll_placement.state.ledger import Ledger

LEFT_OUT: Final = LeftOut(
    job={
        "name": "added where a job's next replica depends on those before",
        "part_of": "says whose part it is, and asks for nothing",
        "roles": "the signatures of the requested role and of companions are added",
        "sequence": "only orders requests",
        "urgency_milli": "only orders requests",
        "preferred_level": "added where the request must keep within it",
        "crossing_percent": "only decides which type is tried first",
        "running": "what is still held is in the ledger",
        "pinned": "nothing is requested for pinned jobs",
        "restart_seconds": "only decides which nodes are tried first",
        "checkpoint_seconds": "only decides which nodes are tried first",
        "payback_seconds": "only counts where the job itself gives way",
    },
    role={
        "name": "no room depends on it",
        "counts": "the request says how many replicas it is for",
        "yields": "the request says which type it is for",
        "mixable": "the request says which type it is for",
        "wanted_milli": "only decides how many replicas are requested",
        "wanted_count": "only decides how many replicas are requested",
        "fineness": "only decides how many replicas are requested",
        "uncapped_draw_milli": "plans go by the draw of the shape",
        "load_nano": "only decides which replicas share a GPU, once all are placed",
        "spot_percent": "counts of companions only, and is added with them",
        "required_level": "counts of companions only, and is added with them",
    },
)
"""What does not decide whether there is room for a request."""


class Claim(Enum):
    """What a job may take: what is free, what lower priorities hold as well, or its queue's due."""

    FREE = auto()
    PRIORITY = auto()
    GUARANTEE = auto()


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
        self._unplaceable: dict[Hashable, None] = {}
        """Kinds of requests that found no room, in the order in which they were tried."""
        self._grown: list[tuple[Job, Assignments]] = []

    @classmethod
    def over_what_runs(cls, problem: Problem, number: int = 0) -> "Greedy":
        """A run over the ledger of a number, which holds what runs and may stay."""
        kept = Keeping() if problem.memory is None else problem.memory.part(Keeping)
        return cls(problem, kept.ledger(problem, number))

    def complete(self) -> dict[JobName, Assignments]:
        """Claim guarantees, admit by priority (where due, at the expense of others), then grow."""
        self.place_all(self.order, Claim.GUARANTEE)
        for priority in self.problem.priorities:
            of_priority = [job for job in self.order if job.priority == priority]
            self.place_all(of_priority, Claim.PRIORITY)
        place_again(self.ledger, [job for job in self.order if not job.is_running])
        self.grow()
        return dict(self.ledger.placed)

    def fill(self) -> dict[JobName, Assignments]:
        """Give what is free to waiting jobs, in order, and the rest to jobs that can grow."""
        self.place_all(self.order, Claim.FREE)
        self.grow()
        return dict(self.ledger.placed)

    def only_due(self) -> dict[JobName, Assignments]:
        """Stop nothing but for guarantees and overdue jobs; others that wait get what is free."""
        self.place_all(self.order, Claim.GUARANTEE)
        self.place_all((job for job in self.order if job.overdue), Claim.PRIORITY)
        self.place_all(self.order, Claim.FREE)
        self._grow(job for job in self.order if not job.is_running)
        return dict(self.ledger.placed)

    def place_all(self, jobs: Iterable[Job], claim: Claim) -> None:
        """Place those of the jobs that lack anything.

        Within an age the best go first, but by name where guarantees are claimed: so they count.
        """
        for _, peers in itertools.groupby(jobs, key=_age):
            waiting = [job for job in peers if not self.is_satisfied(job)]
            if len(waiting) > 1 and claim is not Claim.GUARANTEE:
                waiting = best_first(self.ledger, waiting)
            for job in waiting:
                self.place(job, claim)

    def is_satisfied(self, job: Job) -> bool:
        """Whether a job needs nothing more before the others have had their turn."""
        placed = self.ledger.placed.get(job.name, ())
        if job.pinned or (job.gang and placed):
            return True
        return not job.gang and all(missing(role, placed) == 0 for role in job.roles)

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
        for request in requests(self.ledger, job):
            if self._place(request, claim) is not None:
                return

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
        replica = free_index(role, placed)
        return any(
            self._place(Request(job, role, gpu_type, (replica,)), claim) is not None
            for gpu_type in self._cheapest_types(job, role, placed)
        )

    def _cheapest_types(self, job: Job, role: Role, placed: Assignments) -> list[GpuType]:
        """The GPU types that can take one more replica, the cheapest for what it adds first."""
        prices, left = self.ledger.prices(job, role), max(lacking_load(role, placed), 1)

        def price(gpu_type: GpuType) -> tuple[float, int]:
            cheapest = min(
                int(prices[device_pool.rows].min())
                for device_pool in self.ledger.device_pools[gpu_type]
            )
            adds = max(min(role.carries(gpu_type), left), 1)
            return cheapest / adds, -adds

        kinds = [kind for kind in role.yields if kind in self.ledger.device_pools]
        return sorted(kinds, key=lambda kind: (*price(kind), kind))

    def _whole_or_nothing(self, job: Job) -> None:
        if not is_whole(job, self.ledger.placed.get(job.name, ())):
            self.ledger.clear(job)

    def _place(self, request: Request, claim: Claim) -> Assignments | None:
        owed = self.ledger.within_guarantee(request.job.queue, request.gpu_type, request.gpu_milli)
        if claim is Claim.GUARANTEE and not owed:
            return None
        kind = _kind(request, claim)
        if kind in self._unplaceable:
            return None
        assignments = place(self.ledger, request)
        if assignments is None and claim is not Claim.FREE and not request.inside:
            reclaim = claim is Claim.GUARANTEE
            assignments = place_by_eviction(self.ledger, request, reclaim=reclaim)
        if assignments is None:
            self._unplaceable[kind] = None
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
            if self._grow_to(job, wanted):
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

    def _grow_to(self, job: Job, wanted: int) -> bool:
        """Add replicas up to `wanted` if that is worth it; return whether it was done."""
        role, before = job.roles[0], self.ledger.placed[job.name]
        weight = self.weights[job.priority]
        worth_before = worth(self.problem, job, before, weight)
        more = tuple(range(job.size(before), wanted))
        request = Request(job, role, before[0].gpu_type, more)
        # Where the other replicas may be depends on where the gang is.
        depends = job.required_level is not None or 0 < job.spot_percent < WHOLE_PERCENT
        kind = (_kind(request, Claim.FREE), job.name if depends else "")
        added = None if kind in self._unplaceable else place(self.ledger, request)
        if added is None:
            self._unplaceable[kind] = None
            return False
        after = (*before, *added)
        loss = weighed_loss(self.problem, job, before, after)
        gain = weighed_gain(self.problem, job, before, after)
        is_better = worth(self.problem, job, after, weight) > worth_before
        if is_better and pays(self.problem, gain, loss):
            self._grown.append((job, added))
            return True
        self.ledger.give_back(job, added)
        return False


def _age(job: Job) -> tuple[int, bool, int, int]:
    """The admission order without the name: jobs that are equal in it came at the same time."""
    return admission_order(job)[:-1]


def _kind(request: Request, claim: Claim) -> Hashable:
    """Requests of one kind fail alike, as long as nothing becomes free.

    Where only part of a job may be on spot nodes, its next replica depends on the earlier ones.
    """
    job, role = request.job, request.role
    depends = not job.gang and 0 < job.spot_percent < WHOLE_PERCENT
    return (
        claim,
        job.preferred_level if request.inside else None,
        request.gpu_type,
        len(request.replicas),
        job.signature(LEFT_OUT),
        role.signature(LEFT_OUT),
        tuple(_companion(each) for each in job.companions),
        job.name if depends else "",
    )


def _companion(role: Role) -> Hashable:
    """All of a companion that decides whether there is room for its gang."""
    limits = role.counts, role.spot_percent, role.required_level
    return role.signature(LEFT_OUT), tuple(role.yields), limits
