"""Places beside all that runs: no job makes way for them, and none moves."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from plimsoll_placement.model import Assignment, GpuType, Job, JobName
from plimsoll_placement.placing.options import price_of
from plimsoll_placement.placing.place import Request, place
from plimsoll_placement.problem import Problem
from plimsoll_placement.state.ledger import Ledger


def places_beside(problem: Problem, more: Sequence[Job]) -> Mapping[JobName, Assignment]:
    """For those of `more` for which there is room, where one replica of their only role goes.

    They are no jobs of the problem, and get their places in this order, each on the GPU type that
    costs least for what it carries. Its replica has number 0.
    """
    if not more or not all(job.knows_its_roles for job in problem.jobs):
        return {}
    ledger = Ledger(replace(problem, jobs=(*problem.jobs, *more)))
    for job in problem.jobs:
        ledger.hold(job)
    found = ((job.name, _place_of_one(ledger, job)) for job in more)
    return {name: place for name, place in found if place is not None}


def _place_of_one(ledger: Ledger, job: Job) -> Assignment | None:
    [role] = job.roles

    def price_of_load(kind: GpuType) -> tuple[float, int, GpuType]:
        carries = max(role.carries(kind), 1)
        price = price_of(ledger, job, role, kind, role.pods_per_replica)
        return price / carries, -carries, kind

    kinds = [kind for kind in role.yields if kind in ledger.device_pools]
    for kind in sorted(kinds, key=price_of_load):
        placed = place(ledger, Request(job, role, kind, (0,)))
        if placed is not None:
            return placed[0]
    return None
