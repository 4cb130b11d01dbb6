"""From counts to nodes: seats for what the model chose, as far as it fits single nodes.

What stays is taken first, then what runs anew, the pods hardest to seat first. What finds no room
where the model wants it is tried anywhere, then as it ran before, then at its least size; greedy
completes the rest.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from plimsoll_placement.cpsat.draft import Draft
from plimsoll_placement.cpsat.variables import Fresh, GroupVariables
from plimsoll_placement.greedy import Greedy, free_index
from plimsoll_placement.ledger import Ledger
from plimsoll_placement.problem import Assignment, Job, JobName, Role
from plimsoll_placement.seats import Request, seat

Seats = tuple[Assignment, ...]
CellPods = tuple[tuple[int, int], ...]
"""How many pods in which cell."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Replicas that a job should have anew; of a gang all, else one."""

    own: GroupVariables
    job: Job
    fresh: Fresh
    replicas: int
    pods: CellPods

    @property
    def order(self) -> tuple[bool, int, int, int, str]:
        """Bound to a domain first, then large pods, then large gangs, then the important."""
        milli = self.fresh.role.shape.gpu_milli
        total = milli * self.replicas * self.fresh.role.pods_per_replica
        is_free = self.job.required_level is None
        return is_free, -milli, -total, -self.job.priority, self.job.name


def realised(draft: Draft, values: Sequence[int]) -> dict[JobName, Seats]:
    """Sound placements close to what the values of the variables say."""
    problem = draft.relaxation.problem
    ledger = Ledger(problem)
    for job in problem.jobs:
        if job.pinned and job.running:
            ledger.hold(job)
    for own in draft.variables.groups:
        _keep(ledger, own, values)
    wishes = [wish for own in draft.variables.groups for wish in _wishes(ledger, own, values)]
    for wish in sorted(wishes, key=lambda wish: wish.order):
        if wish.job.gang:
            _seat_gang(draft, ledger, wish)
        else:
            _seat_replica(draft, ledger, wish)
    return Greedy(problem, ledger).complete()


def _keep(ledger: Ledger, own: GroupVariables, values: Sequence[int]) -> None:
    """Let as many units stay as should, of the older jobs first."""
    for kept in own.kept:
        left = values[kept.units.index]
        for job in own.group.jobs:
            for unit in kept.stay.units[:left]:
                ledger.take(job, unit)
            left = max(0, left - len(kept.stay.units))


def _wishes(ledger: Ledger, own: GroupVariables, values: Sequence[int]) -> Iterator[Wish]:
    waiting = [job for job in own.group.jobs if job.name not in ledger.placed]
    for fresh in own.fresh:
        left = Counter({pods.cell: pods.count.value(values) for pods in fresh.pods})
        per_replica = fresh.role.pods_per_replica
        if own.service is not None:
            jobs = own.group.jobs[: max(1, values[own.service.runs.index])]
            for place in range(left.total() // per_replica):
                yield Wish(own, jobs[place % len(jobs)], fresh, 1, _drawn(left, per_replica))
        else:
            for job, count in zip(waiting, _counts(fresh, values), strict=False):
                yield Wish(own, job, fresh, count, _drawn(left, count * per_replica))
            waiting = waiting[len(_counts(fresh, values)) :]


def _counts(fresh: Fresh, values: Sequence[int]) -> list[int]:
    """The replicas of each gang that runs by an option: growth goes to the first of them."""
    runs = values[fresh.runs.index] if fresh.runs is not None else 0
    counts = [fresh.option.least] * runs
    for variable, segment in zip(fresh.growth, fresh.option.segments, strict=True):
        left = values[variable.index]
        for place in range(runs):
            steps = min(left, segment.steps)
            counts[place] += steps * segment.replicas
            left -= steps
    return [max(n for n in fresh.role.counts if n <= count) for count in counts]


def _drawn(left: Counter[int], pods: int) -> CellPods:
    """Pods taken from what is left to hand out by cell, from as few cells as possible."""
    drawn: list[tuple[int, int]] = []
    while pods > 0 and left.total() > 0:
        [(cell, most)] = left.most_common(1)
        taken = min(pods, most)
        left[cell] -= taken
        pods -= taken
        drawn.append((cell, taken))
    return tuple(drawn)


def _seat_gang(draft: Draft, ledger: Ledger, wish: Wish) -> None:
    """Seat a gang as the model wants it, else as near to that as there is room."""
    role = wish.fresh.role
    everyone, least = tuple(range(wish.replicas)), tuple(range(role.least))
    anywhere = Request(wish.job, role, wish.fresh.option.gpu_type, everyone)
    within = replace(anywhere, role=_within(draft, role, wish.pods))
    _ = (
        _seat_by_cell(draft, ledger, wish)
        or seat(ledger, within)
        or seat(ledger, anywhere)
        or any(ledger.take(wish.job, unit) for kept in wish.own.kept for unit in kept.stay.units)
        or seat(ledger, replace(within, replicas=least))
        or seat(ledger, replace(anywhere, replicas=least))
    )


def _seat_by_cell(draft: Draft, ledger: Ledger, wish: Wish) -> bool:
    """Seat in each cell just what the model has there; all or nothing."""
    role, start = wish.fresh.role, 0
    if any(pods % role.pods_per_replica for _, pods in wish.pods):
        return False
    on_demand_first = sorted(wish.pods, key=lambda pods: _is_spot(draft, pods[0]))
    for cell, pods in on_demand_first:
        end = start + pods // role.pods_per_replica
        replicas = tuple(range(start, min(end, wish.replicas)))
        own = _within(draft, role, ((cell, pods),))
        if not seat(ledger, Request(wish.job, own, wish.fresh.option.gpu_type, replicas)):
            ledger.clear(wish.job)
            return False
        start = end
    return start >= wish.replicas


def _is_spot(draft: Draft, cell: int) -> bool:
    return draft.relaxation.cells.cells[cell].node.spot


def _within(draft: Draft, role: Role, pods: CellPods) -> Role:
    """The role, eligible for no nodes but those of some cells."""
    cells = draft.relaxation.cells.cells
    mask = sum(1 << row for cell, _ in pods for row in cells[cell].rows.tolist())
    return replace(role, eligible=role.eligible & mask)


def _seat_replica(draft: Draft, ledger: Ledger, wish: Wish) -> None:
    """Seat one replica in its cell, else anywhere."""
    role = wish.fresh.role
    index = free_index(role, ledger.placed.get(wish.job.name, ()))
    anywhere = Request(wish.job, role, wish.fresh.option.gpu_type, (index,))
    _ = seat(ledger, replace(anywhere, role=_within(draft, role, wish.pods))) or seat(
        ledger, anywhere
    )
