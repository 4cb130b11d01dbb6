"""Test whether a job would run under changes: plan the whole cluster again from present placements.

Placed jobs may be moved and stopped as in any plan, but ask for no more than they hold, and other
waiting jobs are left out: the question is whether there is a place, not whose turn it is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from plimsoll_placement.effort import Effort
from plimsoll_placement.explain.changes.changes import FreeGpus
from plimsoll_placement.explain.changes.relaxing import Relaxation
from plimsoll_placement.model import Assignments, Devices, Job, JobName, Node, Placements, Role
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Solution
from plimsoll_placement.solve import solve

NOTHING = Relaxation(())


@dataclass(frozen=True, slots=True)
class Replanned:
    """A repeated plan: the problem, the job in it, and the solution."""

    problem: Problem
    job: Job
    solution: Solution

    @property
    def assignments(self) -> Assignments:
        """Where the job runs; none if it waits."""
        return self.solution.placements.get(self.job.name, ())

    @property
    def runs(self) -> bool:
        """Whether the job runs."""
        return bool(self.assignments)

    @property
    def is_certain(self) -> bool:
        """Whether the result is more than not having found a place: a bound rules one out."""
        if self.runs:
            return True
        upto = 3 + 2 * self.problem.priorities.index(self.job.priority)
        return self.solution.score.levels[:upto] == self.solution.bound.levels[:upto]


@dataclass(frozen=True, slots=True)
class Again:
    """What is placed of a problem, to be planned again with changes."""

    problem: Problem
    placements: Placements
    effort: Effort = field(default_factory=Effort)

    def plan(
        self, job: Job, relaxation: Relaxation = NOTHING, *, gone: Iterable[JobName] = ()
    ) -> Replanned:
        """The plan for a job beside all other placed jobs, except those in `gone`."""
        left = set(gone)
        others = (content(each, held) for each, held in self.held(job) if each.name not in left)
        return self._planned(job, relaxation, others)

    def plan_with_all(
        self, job: Job, relaxation: Relaxation = NOTHING, *, gone: Iterable[JobName] = ()
    ) -> Replanned:
        """The same with all other jobs that wait or lack replicas, each in its turn."""
        left = {job.name, *gone}
        others = (
            replace(each, running=self.placements.get(each.name, ()))
            for each in self.problem.jobs
            if each.name not in left
        )
        return self._planned(job, relaxation, others)

    def firm(self) -> "Again":
        """The same with every job pinned to its place."""
        jobs = (
            replace(job, running=held, pinned=True) if held else job
            for job in self.problem.jobs
            for held in (self.placements.get(job.name, ()),)
        )
        return replace(self, problem=replace(self.problem, jobs=tuple(jobs)))

    def quick(self) -> "Again":
        """The same with the first plan that is found, which moves no job without need."""
        return replace(self, effort=Effort(0))

    def held(self, job: Job) -> list[tuple[Job, Assignments]]:
        """The other placed jobs, with what they hold."""
        return [
            (each, self.placements[each.name])
            for each in self.problem.jobs
            if each.name != job.name and self.placements.get(each.name)
        ]

    def _planned(self, job: Job, relaxation: Relaxation, others: Iterable[Job]) -> Replanned:
        problem, waiting = relaxed(self.problem, replace(job, running=()), relaxation)
        problem = replace(problem, jobs=(*others, waiting))
        return Replanned(problem, waiting, solve(problem, self.effort))


def content(job: Job, held: Assignments) -> Job:
    """A job that asks for no more than it holds."""
    if job.pinned:
        return replace(job, running=held)
    if job.gang:
        size = job.size(held)
        kept = [place for place, count in enumerate(job.roles[0].counts) if count <= size]
        roles = tuple(_of_sizes(role, kept) for role in job.roles) if kept else job.roles
    else:
        roles = tuple(_of_no_more(role, held) for role in job.roles)
    return replace(job, running=held, roles=roles)


def _of_sizes(role: Role, places: Sequence[int]) -> Role:
    """A gang's role with only these of its sizes."""
    counts = tuple(role.counts[place] for place in places)
    yields = {kind: tuple(of[place] for place in places) for kind, of in role.yields.items()}
    return replace(role, counts=counts, yields=yields)


def _of_no_more(role: Role, held: Assignments) -> Role:
    mine = [a.gpu_type for a in held if a.role == role.name]
    kept = [place for place, count in enumerate(role.counts) if count <= len(mine)]
    if not kept:
        return role
    if not role.mixable:
        return _of_sizes(role, kept)
    counts = tuple(role.counts[place] for place in kept)
    carried = sum(role.yields[kind][0] for kind in mine if kind in role.yields)
    fewest = min(role.wanted_count, len(mine))
    wanted = min(role.wanted_milli, role.useful_milli(carried))
    return replace(role, counts=counts, wanted_milli=wanted, wanted_count=fewest)


def relaxed(problem: Problem, job: Job, relaxation: Relaxation) -> tuple[Problem, Job]:
    """The whole problem and the job after all changes.

    Jobs that give up devices are not named and do not get them back: the node simply has more of
    them.
    """
    for change in relaxation.changes:
        if isinstance(change, FreeGpus):
            problem = _with_spare(change.powered_down(problem), change)
        else:
            problem, job = change.applied(problem, job)
    return problem, job


def _with_spare(problem: Problem, change: FreeGpus) -> Problem:
    spare: Mapping[str, int] = dict(change.devices)
    nodes = (
        _with_devices(node, change, spare[node.name]) if node.name in spare else node
        for node in problem.nodes
    )
    return replace(problem, nodes=tuple(nodes))


def _with_devices(node: Node, change: FreeGpus, count: int) -> Node:
    def more(devices: Devices) -> Devices:
        if (devices.gpu_type, devices.share_milli) != (change.gpu_type, change.share_milli):
            return devices
        return replace(devices, free_milli=devices.free_milli + (change.level_milli,) * count)

    return replace(node, devices=tuple(map(more, node.devices)))
