"""Every way to place each job of a small problem, found by exhaustive search.

Independent of the solver: `check/` decides what is allowed. Gangs are placed as a whole, replicas
of services one by one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import comb

from plimsoll_placement.check import violations
from plimsoll_placement.model import Assignment, Assignments, GpuType, Job, NodeName, Role
from plimsoll_placement.problem import Problem

Held = Assignments
ReplicaPlacement = tuple[GpuType, tuple[NodeName, ...]]

NEW = -1
"""The number of a replica that is not numbered yet."""

WHOLE_PERCENT = 100


class TooManyWaysError(Exception):
    """There are more ways to place a job than may be examined."""


@dataclass(frozen=True, slots=True)
class Way:
    """What a job can hold: all replicas of a gang, otherwise one replica; and how often at most."""

    job: Job
    held: Held
    most: int

    @property
    def is_new(self) -> bool:
        """Whether it is one of several replicas that have to be numbered."""
        return self.held[0].replica == NEW


def ways(problem: Problem, job: Job, most_ways: int) -> list[Way]:
    """All ways of a job that is not pinned; raises TooManyWaysError."""
    found = _gang_ways(problem, job, most_ways) if job.gang else _replica_ways(problem, job)
    listed: list[Way] = []
    for way in found:
        listed.append(way)
        if len(listed) > most_ways:
            raise TooManyWaysError(job.name)
    return listed


def _gang_ways(problem: Problem, job: Job, most_ways: int) -> Iterator[Way]:
    """As it runs, and each number of replicas on each multiset of places."""
    alone = replace(problem, jobs=(job,))
    if job.running and not violations(alone, {job.name: job.running}):
        yield Way(job, job.running, 1)
    role = job.roles[0]
    for gpu_type in role.yields:
        placements = _replica_placements(problem, role, gpu_type)
        for size in role.counts:
            if comb(len(placements) + size - 1, size) > most_ways:
                raise TooManyWaysError(job.name)
            for chosen in combinations_with_replacement(placements, size):
                held = tuple(
                    Assignment(role.name, number, gpu_type, names)
                    for number, (_, names) in enumerate(chosen)
                )
                if set(held) != set(job.running) and not violations(alone, {job.name: held}):
                    yield Way(job, held, 1)


def _replica_ways(problem: Problem, job: Job) -> Iterator[Way]:
    """Each replica that may stay, and each place for new ones."""
    for role in job.roles:
        single = replace(role, counts=(1,))
        lone = replace(job, roles=(single,), running=(), spot_percent=WHOLE_PERCENT)
        for assignment in (a for a in job.running if a.role == role.name):
            stays = replace(lone, running=(assignment,))
            alone = replace(problem, jobs=(stays,))
            if not violations(alone, {job.name: (assignment,)}):
                yield Way(job, (assignment,), 1)
        alone = replace(problem, jobs=(lone,))
        for gpu_type in role.yields:
            for _, names in _replica_placements(problem, role, gpu_type):
                held = (Assignment(role.name, NEW, gpu_type, names),)
                if not violations(alone, {job.name: held}):
                    yield Way(job, held, role.counts[-1])


def _replica_placements(problem: Problem, role: Role, gpu_type: GpuType) -> list[ReplicaPlacement]:
    """Where the pods of one replica can be, whatever else there is."""
    offering = [
        node.name
        for index, node in enumerate(problem.nodes)
        if role.eligible >> index & 1 and any(d.gpu_type == gpu_type for d in node.devices)
    ]
    pods = combinations_with_replacement(offering, role.pods_per_replica)
    return [(gpu_type, names) for names in pods]
