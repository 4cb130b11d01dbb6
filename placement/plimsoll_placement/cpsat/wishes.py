"""What the values of the variables ask for, job by job: who stays where, who gets which new seats.

The model often does not mind where a job is, and whoever moves loses work: so a job that runs on
the type that the model gives it may just stay. Where room is scarce, that can be too much to ask.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plimsoll_placement.cpsat.draft import Draft
from plimsoll_placement.cpsat.relaxation import Relaxation
from plimsoll_placement.cpsat.variables import Fresh, GroupVariables
from plimsoll_placement.problem import Assignment, Job, JobName
from plimsoll_placement.stays import stayable

Seats = tuple[Assignment, ...]
CellPods = tuple[tuple[int, int], ...]
"""How many pods in which cell."""

Home = dict[JobName, list[Assignment]]
"""The running replicas of jobs that may stay although the model has no variable for it."""


@dataclass(frozen=True, slots=True)
class Stayer:
    """Replicas that stay where they run; of a gang all, else one."""

    job: Job
    seats: Seats


@dataclass(frozen=True, slots=True)
class Wish:
    """Replicas that a job should have anew; of a gang all, else one."""

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


def wishes(draft: Draft, values: Sequence[int]) -> Iterator[Stayer | Wish]:
    """What stays, also where the model does not say so, and what is wished for anew."""
    for own in draft.variables.groups:
        home = {job.name: list(stayable(draft.relaxation.problem, job)) for job in own.group.jobs}
        yield from _asked(draft.relaxation, own, values, home)


def strict_wishes(draft: Draft, values: Sequence[int]) -> Iterator[Stayer | Wish]:
    """What stays where the model says so, and what is wished for anew."""
    for own in draft.variables.groups:
        home = {job.name: list[Assignment]() for job in own.group.jobs}
        yield from _asked(draft.relaxation, own, values, home)


def _asked(
    relaxation: Relaxation, own: GroupVariables, values: Sequence[int], home: Home
) -> Iterator[Stayer | Wish]:
    asked = _gangs if own.service is None else _replicas
    return asked(relaxation, own, values, home)


def _gangs(
    relaxation: Relaxation, own: GroupVariables, values: Sequence[int], home: Home
) -> Iterator[Stayer | Wish]:
    waiting = {job.name: job for job in own.group.jobs}
    for kept in own.kept:
        for job in list(waiting.values())[: values[kept.units.index]]:
            yield Stayer(waiting.pop(job.name), kept.stay.units[0])
    for fresh in own.fresh:
        left, counts = _pods_by_cell(fresh, values), _counts(fresh, values)
        for stayer in _at_home(fresh, list(waiting.values()), counts, home):
            del waiting[stayer.job.name]
            _draw_home(relaxation, left, stayer)
            yield stayer
        for job, count in zip(list(waiting.values()), counts, strict=False):
            del waiting[job.name]
            yield Wish(job, fresh, count, _drawn(left, count * fresh.role.pods_per_replica))


def _at_home(fresh: Fresh, jobs: Sequence[Job], counts: list[int], home: Home) -> Iterator[Stayer]:
    """Gangs that run on the type, at one of the counts or of any size if the model has but one."""
    for job in jobs:
        seats = tuple(home[job.name])
        if not counts or not seats or seats[0].gpu_type != fresh.option.gpu_type:
            continue
        if len(seats) in counts:
            counts.remove(len(seats))
            yield Stayer(job, seats)
        elif not fresh.option.segments:
            counts.pop()
            yield Stayer(job, seats)


def _replicas(
    relaxation: Relaxation, own: GroupVariables, values: Sequence[int], home: Home
) -> Iterator[Stayer | Wish]:
    runs = values[own.service.runs.index] if own.service is not None else 0
    jobs = own.group.jobs[:runs]
    for kept in own.kept:
        left = values[kept.units.index]
        for job in jobs:
            for unit in kept.stay.units[:left]:
                home[job.name] = [a for a in home[job.name] if a != unit[0]]
                yield Stayer(job, unit)
            left = max(0, left - len(kept.stay.units))
    for fresh in own.fresh:
        left_pods, per_replica = _pods_by_cell(fresh, values), fresh.role.pods_per_replica
        for place in range(left_pods.total() // per_replica if jobs else 0):
            job = jobs[place % len(jobs)]
            stayer = _first_home(fresh, job, home[job.name])
            if stayer is not None:
                home[job.name].remove(stayer.seats[0])
                _draw_home(relaxation, left_pods, stayer)
                yield stayer
            else:
                yield Wish(job, fresh, 1, _drawn(left_pods, per_replica))


def _first_home(fresh: Fresh, job: Job, home: Sequence[Assignment]) -> Stayer | None:
    """A replica of the job that runs as an option has it."""
    wanted = (fresh.role.name, fresh.option.gpu_type)
    found = next((a for a in home if (a.role, a.gpu_type) == wanted), None)
    return None if found is None else Stayer(job, (found,))


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


def _pods_by_cell(fresh: Fresh, values: Sequence[int]) -> Counter[int]:
    return Counter({pods.cell: pods.count.value(values) for pods in fresh.pods})


def _draw_home(relaxation: Relaxation, left: Counter[int], stayer: Stayer) -> None:
    """Take the pods of what stays off the cells that they are in, as far as these count them."""
    index = relaxation.problem.node_index
    for name in (name for a in stayer.seats for name in a.nodes):
        for place in relaxation.cells.of_row.get(index[name], ()):
            if left[place] > 0:
                left[place] -= 1
                break


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
