"""Let a service grow that must not be disturbed.

For the solver, a pinned job keeps exactly what it runs. So a pinned service becomes two jobs: what
it runs, and the replicas that are still missing, which are not pinned because they do not run yet.
"""

from collections.abc import Collection
from dataclasses import replace

from plimsoll.observe.snapshot import JobName
from plimsoll.planning.adjustment import Adjustment
from plimsoll.planning.cluster.fixed_size import assignments_of_role
from plimsoll_placement.model import Assignments, Job, Role
from plimsoll_placement.model import JobName as SolverName
from plimsoll_placement.placing.shortfall import lacking_load
from plimsoll_placement.problem import Problem


def missing_parts(problem: Problem, but: Collection[JobName] = ()) -> Adjustment:
    """The missing replicas of pinned services, except those in `but`, which may not grow."""
    parts = (missing_part(job) for job in problem.jobs if JobName(job.name) not in but)
    return Adjustment(parts=tuple(part for part in parts if part is not None))


def missing_part(job: Job) -> Job | None:
    """What a pinned service is missing, as a job of its own; None if nothing."""
    if job.gang or not job.pinned:
        return None
    missing = tuple(_missing(role, assignments_of_role(role, job.running)) for role in job.roles)
    if all(role.counts == (0,) for role in missing):
        return None
    name = SolverName(f"{job.name} (missing replicas)")
    return replace(job, name=name, part_of=job.name, roles=missing, running=(), pinned=False)


def _missing(role: Role, kept: Assignments) -> Role:
    load = lacking_load(role, kept)
    # Rounded down, for a replica that carries what lacks must not be too little by rounding.
    lacking = max(1, role.useful_milli(load)) if load > 0 else 0
    most = role.counts[-1] - len(kept) if lacking else 0
    fewest = max(0, role.wanted_count - len(kept))
    counts = tuple(range(most + 1))
    return replace(role, counts=counts, wanted_milli=lacking, wanted_count=fewest)
