"""Places beside all that runs, on GPUs for which no job waits: nobody makes way for them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from plimsoll_placement.model import Assignment, GpuType, Job, JobName
from plimsoll_placement.placing.options import price_of
from plimsoll_placement.placing.place import Request, place
from plimsoll_placement.placing.shortfall import missing
from plimsoll_placement.problem import Problem
from plimsoll_placement.state.ledger import Ledger


def places_beside(problem: Problem, more: Sequence[Job]) -> Mapping[JobName, Assignment]:
    """For those of `more` for which there is room, where one replica of their only role goes.

    They are no jobs of the problem, and get their places in this order, each on the GPU type that
    costs least for what it carries. Its replica has number 0.
    """
    awaited = {
        kind for job in problem.jobs if _waits(job) for role in job.roles for kind in role.yields
    }
    more = [job for job in more if not job.roles[0].yields.keys() <= awaited]
    if not more:
        return {}
    ledger = Ledger(replace(problem, jobs=(*problem.jobs, *more)))
    for job in problem.jobs:
        # What runs in a role that the job no longer has is about to end.
        for assignment in job.running:
            if any(assignment.role == role.name for role in job.roles):
                ledger.hold_replica(job, assignment)
    found: dict[JobName, Assignment] = {}
    for job in more:
        placed = _place_of_one(ledger, job, job.roles[0].yields.keys() - awaited)
        if placed is not None:
            found[job.name] = placed
    return found


def _waits(job: Job) -> bool:
    """Whether a job waits for GPUs, be it for more replicas that it wants."""
    if job.gang or not job.running:
        return not job.running and any(role.least or role.wanted_milli for role in job.roles)
    return any(missing(role, job.running) for role in job.roles)


def _place_of_one(
    ledger: Ledger, job: Job, kinds: Sequence[GpuType] | set[GpuType]
) -> Assignment | None:
    [role] = job.roles

    def price_of_load(kind: GpuType) -> tuple[float, int, GpuType]:
        carries = max(role.carries(kind), 1)
        price = price_of(ledger, job, role, kind, role.pods_per_replica)
        return price / carries, -carries, kind

    for kind in sorted((each for each in kinds if each in ledger.device_pools), key=price_of_load):
        placed = place(ledger, Request(job, role, kind, (0,)))
        if placed is not None:
            return placed[0]
    return None
