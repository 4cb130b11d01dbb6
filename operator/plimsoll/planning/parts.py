"""A service that must not be disturbed may still grow, and shrink as its user wishes.

For the solver a pinned job keeps exactly what it runs. So of a pinned service it is asked about two
jobs: what is kept, without the replicas that are no longer wanted; and beside it the replicas that
are still missing, which nobody runs yet and so nothing pins.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from plimsoll.planning.actions import Seats
from plimsoll_placement.problem import Assignment, Job, JobName, Role, RoleName

_MISSING = " (missing replicas)"


def parts_of(job: Job) -> tuple[Job, ...]:
    """The jobs that the solver is asked about in place of one: itself, unless it is as above."""
    if job.gang or not job.pinned:
        return (job,)
    wanted = {role.name: role.counts[-1] for role in job.roles}
    kept = _kept(job.running, wanted)
    held = Counter(seat.role for seat in kept)
    missing = tuple(_missing(role, wanted[role.name] - held[role.name]) for role in job.roles)
    base = replace(job, running=kept)
    if all(role.counts == (0,) for role in missing):
        return (base,)
    name = JobName(job.name + _MISSING)
    return base, replace(job, name=name, roles=missing, running=(), pinned=False)


def _kept(running: Seats, wanted: Mapping[RoleName, int]) -> Seats:
    """The first replicas of each role, as many as are wanted."""
    left = Counter(wanted)
    kept: list[Assignment] = []
    for seat in sorted(running, key=lambda seat: (seat.role, seat.replica)):
        if left[seat.role] > 0:
            left[seat.role] -= 1
            kept.append(seat)
    return tuple(kept)


def _missing(role: Role, count: int) -> Role:
    each = role.wanted_milli // max(role.counts[-1], 1)
    return replace(role, counts=tuple(range(count + 1)), wanted_milli=each * count)


def is_missing_part(job: Job) -> bool:
    """Whether a job of the solver is what another one is missing."""
    return job.name.endswith(_MISSING)


def whole_name(job: Job) -> JobName:
    """The name of the job that a job of the solver is, or is a part of."""
    return JobName(job.name.removesuffix(_MISSING))


def seats_of(job: Job, placements: Mapping[JobName, Seats]) -> Seats:
    """The seats of a job with those of its missing part, which get the free replica numbers."""
    seats = list(placements.get(job.name, ()))
    for seat in placements.get(JobName(job.name + _MISSING), ()):
        used = {each.replica for each in seats if each.role == seat.role}
        free = next(number for number in range(len(used) + 1) if number not in used)
        seats.append(replace(seat, replica=free))
    return tuple(seats)
