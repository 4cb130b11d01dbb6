"""What each job adds to a score by its assignments, remembered from one score to the next.

Most jobs are as they were in most placements that are compared, and in most problems that follow
each other.
"""

from collections import defaultdict
from dataclasses import dataclass

from plimsoll_placement.memory import changed_rows
from plimsoll_placement.model import Assignments, GpuType, Job, JobName, Node, NodeName, Weights
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import kept_and_admitted, least_milli, worth

MOST_WAYS = 4
"""How many ways to place a job are remembered, the last ones."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a job adds to the levels of a score; `least` is what it holds at its least size."""

    kept: int
    admitted: int
    worth: int
    least: tuple[tuple[GpuType, int], ...]


@dataclass(slots=True)
class _Ways:
    """A job and what it adds by several assignments, the last first."""

    job: Job
    found: list[tuple[Assignments, Contribution]]


class Contributions:
    """What is known of the jobs of one problem after the other."""

    def __init__(self) -> None:
        self._nodes: tuple[Node, ...] = ()
        self._valued: tuple[Weights, tuple[str, ...], tuple[int, ...]] | None = None
        self._ways: dict[JobName, _Ways] = {}

    def turn_to(self, problem: Problem) -> None:
        """Forget what does not hold in a problem: of jobs on nodes that are not as they were."""
        valued = problem.weights, problem.levels, problem.priorities
        rows = changed_rows(self._nodes, problem.nodes) if self._nodes is not problem.nodes else []
        if valued != self._valued or rows is None or len(self._ways) > 2 * len(problem.jobs):
            self._ways.clear()
        else:
            self._forget({problem.nodes[row].name for row in rows})
        self._nodes, self._valued = problem.nodes, valued

    def of(self, problem: Problem, job: Job, placed: Assignments) -> Contribution:
        """What a job adds by its assignments."""
        ways = self._ways.get(job.name)
        if ways is None or ways.job is not job:
            ways = self._ways[job.name] = _Ways(job, [])
        for known, adds in ways.found:
            if known is placed or known == placed:
                return adds
        adds = contribution(problem, job, placed)
        ways.found.insert(0, (placed, adds))
        del ways.found[MOST_WAYS:]
        return adds

    def _forget(self, names: set[NodeName]) -> None:
        for job, ways in list(self._ways.items()) if names else ():
            if any(not names.isdisjoint(a.nodes) for placed, _ in ways.found for a in placed):
                del self._ways[job]


def contribution(problem: Problem, job: Job, placed: Assignments) -> Contribution:
    """What a job adds, computed afresh."""
    keeps, admits = kept_and_admitted(job, placed)
    value = worth(problem, job, placed, problem.priority_weight[job.priority])
    least = tuple(least_by_type(job, placed).items()) if placed else ()
    return Contribution(keeps, admits, value, least)


def least_by_type(job: Job, placed: Assignments) -> dict[GpuType, int]:
    """Milli-GPUs by type of what a job has, a gang at its least size."""
    if job.gang and not job.companions:
        return {placed[0].gpu_type: least_milli(job)}
    held: dict[GpuType, int] = defaultdict(int)
    if job.gang:
        for name, kind in {each.role: each.gpu_type for each in placed}.items():
            role = job.role(name)
            held[kind] += role.least * role.pods_per_replica * role.shape.gpu_milli
        return held
    for assignment in placed:
        held[assignment.gpu_type] += job.role(assignment.role).shape.gpu_milli * len(
            assignment.nodes
        )
    return held
