"""What the variables' values ask for, job by job: which stay, and which get what new assignments.

The model often does not mind where a job is, and a job that moves loses work: so a job that runs on
the type that the model gives it may simply stay. Where room is scarce, that can be too much to ask.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace

from plimsoll_placement.classes.relaxation import Relaxation
from plimsoll_placement.cpsat.builder import ModelBuilder
from plimsoll_placement.cpsat.variables import Fresh, GroupVariables
from plimsoll_placement.model import Assignment, Assignments, Job, JobName, RoleName
from plimsoll_placement.placing.place import hardest_first
from plimsoll_placement.placing.retention import stayable
from plimsoll_placement.score.worth import WHOLE_PERCENT

NodeClassPods = tuple[tuple[int, int], ...]
"""How many pods in which node class."""

Home = dict[JobName, list[Assignment]]
"""The running replicas of jobs that may stay although the model has no variable for it."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Replicas that stay where they run; all of a gang, otherwise one."""

    job: Job
    assignments: Assignments


@dataclass(frozen=True, slots=True)
class Wanted:
    """Replicas that a job should have anew; all of a gang, otherwise one."""

    job: Job
    fresh: Fresh
    replicas: int
    pods: NodeClassPods

    @property
    def order(self) -> tuple[bool, int, int, int, str]:
        """The hardest to place first."""
        return hardest_first(self.job, self.fresh.role, self.replicas)


def extracted(builder: ModelBuilder, values: Sequence[int]) -> Iterator[Kept | Wanted]:
    """What stays, even where the model does not say so, and what is placed anew."""
    for own in builder.variables.job_classes:
        home = {
            job.name: list(stayable(builder.relaxation.problem, job)) for job in own.job_class.jobs
        }
        yield from _extracted_class(builder.relaxation, own, values, home)


def strictly_extracted(builder: ModelBuilder, values: Sequence[int]) -> Iterator[Kept | Wanted]:
    """What stays where the model says so, and what is placed anew."""
    for own in builder.variables.job_classes:
        home = {job.name: list[Assignment]() for job in own.job_class.jobs}
        yield from _extracted_class(builder.relaxation, own, values, home)


def _extracted_class(
    relaxation: Relaxation, own: GroupVariables, values: Sequence[int], home: Home
) -> Iterator[Kept | Wanted]:
    extract = _gangs if own.service is None else _replicas
    return extract(relaxation, own, values, home)


def _gangs(
    relaxation: Relaxation, own: GroupVariables, values: Sequence[int], home: Home
) -> Iterator[Kept | Wanted]:
    waiting = {job.name: job for job in own.job_class.jobs}
    for kept in own.kept:
        for job in list(waiting.values())[: values[kept.units.index]]:
            yield Kept(waiting.pop(job.name), kept.stay.units[0])
    for fresh in own.fresh:
        left, counts = _pods_by_node_class(fresh, values), _counts(fresh, values)
        for stayer in _at_home(fresh, list(waiting.values()), counts, home):
            del waiting[stayer.job.name]
            _draw_home(relaxation, left, stayer)
            yield stayer
        for job, count in zip(list(waiting.values()), counts, strict=False):
            del waiting[job.name]
            yield Wanted(job, fresh, count, _gang_pods(relaxation, job, fresh, count, left))


def _at_home(fresh: Fresh, jobs: Sequence[Job], counts: list[int], home: Home) -> Iterator[Kept]:
    """Gangs running on the type, at one of the counts, or at any size if the model has only one."""
    for job in jobs:
        assignments = tuple(home[job.name])
        if not counts or not assignments or assignments[0].gpu_type != fresh.option.gpu_type:
            continue
        size = job.size(assignments)
        if size in counts:
            counts.remove(size)
            yield Kept(job, assignments)
        elif not fresh.option.segments:
            counts.pop()
            yield Kept(job, assignments)


def _replicas(
    relaxation: Relaxation, own: GroupVariables, values: Sequence[int], home: Home
) -> Iterator[Kept | Wanted]:
    runs = values[own.service.runs.index] if own.service is not None else 0
    jobs = own.job_class.jobs[:runs]
    held: Counter[tuple[JobName, RoleName]] = Counter()
    for stayer in _kept_replicas(own, jobs, values):
        held[stayer.job.name, stayer.assignments[0].role] += 1
        home[stayer.job.name] = [a for a in home[stayer.job.name] if a != stayer.assignments[0]]
        yield stayer
    for role in own.job_class.job.roles:
        turns = [(held[job.name, role.name], place) for place, job in enumerate(jobs)]
        heapify(turns)
        for fresh in (fresh for fresh in own.fresh if fresh.role.name == role.name and jobs):
            left = _pods_by_node_class(fresh, values)
            for _ in range(left.total() // role.pods_per_replica):
                count, place = turns[0]
                heapreplace(turns, (count + 1, place))
                yield _replica(relaxation, fresh, jobs[place], left, home)


def _kept_replicas(
    own: GroupVariables, jobs: Sequence[Job], values: Sequence[int]
) -> Iterator[Kept]:
    for kept in own.kept:
        left = values[kept.units.index]
        for job in jobs:
            for unit in kept.stay.units[:left]:
                yield Kept(job, unit)
            left = max(0, left - len(kept.stay.units))


def _replica(
    relaxation: Relaxation, fresh: Fresh, job: Job, left: Counter[int], home: Home
) -> Kept | Wanted:
    """One more replica of a job: a running one if there is one, otherwise a new one."""
    stayer = _first_home(fresh, job, home[job.name])
    if stayer is None:
        on_demand = [
            node_class
            for node_class in left
            if left[node_class] and not _is_spot(relaxation, node_class)
        ]
        pods = _drawn(left, on_demand or list(left), fresh.role.pods_per_replica)
        return Wanted(job, fresh, 1, pods)
    home[job.name].remove(stayer.assignments[0])
    _draw_home(relaxation, left, stayer)
    return stayer


def _first_home(fresh: Fresh, job: Job, home: Sequence[Assignment]) -> Kept | None:
    """A replica of the job that runs as an option has it."""
    wanted = (fresh.role.name, fresh.option.gpu_type)
    found = next((a for a in home if (a.role, a.gpu_type) == wanted), None)
    return None if found is None else Kept(job, (found,))


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


def _pods_by_node_class(fresh: Fresh, values: Sequence[int]) -> Counter[int]:
    return Counter({pods.node_class: pods.count.value(values) for pods in fresh.pods})


def _draw_home(relaxation: Relaxation, left: Counter[int], stayer: Kept) -> None:
    """Subtract the pods of what stays from their classes, as far as these count them."""
    index = relaxation.problem.node_index
    for name in (name for a in stayer.assignments for name in a.nodes):
        for place in relaxation.node_classes.of_row.get(index[name], ()):
            if left[place] > 0:
                left[place] -= 1
                break


def _gang_pods(
    relaxation: Relaxation, job: Job, fresh: Fresh, count: int, left: Counter[int]
) -> NodeClassPods:
    """The pods of one of several like gangs, with no more on spot nodes than its own share."""
    per_replica = fresh.role.pods_per_replica
    spot = [node_class for node_class in left if _is_spot(relaxation, node_class)]
    on_demand = [node_class for node_class in left if node_class not in spot]
    on_spot = _drawn(left, spot, count * job.spot_percent // WHOLE_PERCENT * per_replica)
    rest = count * per_replica - sum(pods for _, pods in on_spot)
    return *on_spot, *_drawn(left, on_demand, rest)


def _is_spot(relaxation: Relaxation, node_class: int) -> bool:
    return relaxation.node_classes.node_classes[node_class].node.spot


def _drawn(left: Counter[int], node_classes: Sequence[int], pods: int) -> NodeClassPods:
    """Pods taken from what some node classes have left to hand out, using as few as possible."""
    drawn: list[tuple[int, int]] = []
    for node_class in sorted(node_classes, key=lambda node_class: (-left[node_class], node_class)):
        taken = min(pods, left[node_class])
        if taken > 0:
            left[node_class] -= taken
            pods -= taken
            drawn.append((node_class, taken))
    return tuple(drawn)
