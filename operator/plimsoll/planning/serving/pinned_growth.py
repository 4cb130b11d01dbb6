"""A service that must not be disturbed may still grow.

For the solver a pinned job keeps exactly what it runs. So of a pinned service it is asked about two
jobs: what it runs; and beside it the replicas that are still missing, which nobody runs yet and so
nothing pins.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain, count

from plimsoll_placement.model import Assignment, Assignments, Job, JobName, Role

_MISSING = " (missing replicas)"


def parts_of(job: Job) -> tuple[Job, ...]:
    """The jobs that the solver is asked about in place of one: itself, unless it is as above."""
    if job.gang or not job.pinned:
        return (job,)
    missing = tuple(_missing(role, assignments_of_role(role, job.running)) for role in job.roles)
    if all(role.counts == (0,) for role in missing):
        return (job,)
    name = JobName(job.name + _MISSING)
    part = replace(job, name=name, part_of=job.name, roles=missing, running=(), pinned=False)
    return job, part


def _missing(role: Role, kept: Assignments) -> Role:
    carried = sum(role.carries(assignment.gpu_type) for assignment in kept)
    lacking = max(0, role.wanted_milli - role.served(carried, len(kept)))
    most = role.counts[-1] - len(kept) if lacking else 0
    fewest = max(0, role.wanted_count - len(kept))
    counts = tuple(range(most + 1))
    return replace(role, counts=counts, wanted_milli=lacking, wanted_count=fewest)


def assignments_of_role(role: Role, assignments: Iterable[Assignment]) -> Assignments:
    """The seats that are a role's."""
    return tuple(assignment for assignment in assignments if assignment.role == role.name)


def is_missing_part(job: Job) -> bool:
    """Whether a job of the solver is what another one is missing."""
    return job.part_of is not None


def assignments_of(job: Job, placements: Mapping[JobName, Assignments]) -> Assignments:
    """The seats of a job with those of its missing part, which get free replica numbers."""
    assignments = list(placements.get(job.name, ()))
    for assignment in placements.get(JobName(job.name + _MISSING), ()):
        used = {each.replica for each in assignments if each.role == assignment.role}
        free = (number for number in chain((assignment.replica,), count()) if number not in used)
        assignments.append(replace(assignment, replica=next(free)))
    return tuple(assignments)
