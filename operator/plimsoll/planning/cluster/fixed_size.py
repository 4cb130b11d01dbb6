"""Jobs that keep the size that they have."""

from collections.abc import Iterable
from dataclasses import replace

from plimsoll_placement.model import Assignment, Assignments, Job, Role


def assignments_of_role(role: Role, assignments: Iterable[Assignment]) -> Assignments:
    """The assignments of one role."""
    return tuple(assignment for assignment in assignments if assignment.role == role.name)


def of_one_size(job: Job, assignments: Assignments) -> Job:
    """The job as if it held these assignments, to keep that size or stop."""
    roles = tuple(
        _role_of_one_size(role, len(assignments_of_role(role, assignments)), gang=job.gang)
        for role in job.roles
    )
    return replace(job, roles=roles, running=assignments)


def _role_of_one_size(role: Role, count: int, *, gang: bool) -> Role:
    if not gang:
        return replace(role, counts=(count,))
    place = role.counts.index(count)
    yields = {kind: (milli[place],) for kind, milli in role.yields.items()}
    return replace(role, counts=(count,), yields=yields)
