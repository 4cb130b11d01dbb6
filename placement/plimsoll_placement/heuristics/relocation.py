"""Another place for a gang that is better off without some node; it may also stay where it is.

Other jobs stay where they are and none is preempted. A gang off a slow node keeps its GPU type and
its size.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace

from plimsoll_placement.model import Assignments, Job, JobName, NodeName
from plimsoll_placement.placing.options import requests
from plimsoll_placement.placing.place import Request, place
from plimsoll_placement.placing.retention import is_one_size
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import served_milli, worth
from plimsoll_placement.state.ledger import Ledger


def other_place(
    problem: Problem, name: JobName, left: AbstractSet[NodeName], *, lost: float
) -> Assignments | None:
    """Assignments for everything a gang runs, avoiding the nodes `left`.

    None if there are none, or none worth as much as staying with a yield reduced by the share
    `lost`. The cost of the move itself is not counted.
    """
    gang = problem.job_by_name[name]
    others = tuple(each for each in problem.jobs if each.name != name)
    if not _keeps_its_size(gang) or not all(each.knows_its_roles for each in others):
        return None
    moving = _without(problem, gang, left)
    ledger = Ledger(replace(problem, jobs=(*others, moving)))
    for each in others:
        ledger.hold(each)
    replicas = tuple(each.replica for each in gang.running[: gang.size(gang.running)])
    assignments = place(
        ledger, Request(moving, moving.roles[0], gang.running[0].gpu_type, replicas)
    )
    return assignments if assignments and _is_as_good(problem, gang, assignments, lost) else None


def with_room_on(problem: Problem, names: Iterable[JobName], nodes: int) -> dict[JobName, Job]:
    """Those of these gangs that have room on some nodes, and as they would be bound to them.

    `nodes` is a bit mask. There is room for all of them at once, each at its least size.
    """
    wanted = [problem.job_by_name[name] for name in names if name in problem.job_by_name]
    if not wanted or not all(each.knows_its_roles for each in problem.jobs):
        return {}
    bound = {job.name: _bound_to(job, nodes) for job in wanted if job.gang and not job.pinned}
    jobs = (
        replace(bound[each.name], running=()) if each.name in bound else each
        for each in problem.jobs
    )
    ledger = Ledger(replace(problem, jobs=tuple(jobs)))
    for each in ledger.problem.jobs:
        if each.name not in bound:
            ledger.hold(each)
    return {name: job for name, job in bound.items() if _is_placed(ledger, name)}


def _bound_to(job: Job, nodes: int) -> Job:
    roles = (replace(role, eligible=role.eligible & nodes) for role in job.roles)
    return replace(job, roles=tuple(roles))


def _is_placed(ledger: Ledger, name: JobName) -> bool:
    """Place a gang at its least size, if there is room for it."""
    gang = ledger.problem.job_by_name[name]
    return any(place(ledger, request) is not None for request in requests(ledger, gang))


def _keeps_its_size(gang: Job) -> bool:
    """Whether a gang may keep the size and the type that it runs with."""
    if not gang.gang or not gang.running or not gang.knows_its_roles:
        return False
    return is_one_size(gang, gang.running) and gang.running[0].gpu_type in gang.roles[0].yields


def _without(problem: Problem, gang: Job, left: AbstractSet[NodeName]) -> Job:
    """The gang as if it had yet to be placed and could not use some nodes."""
    mask = problem.bits_of(left)
    roles = (replace(role, eligible=role.eligible & ~mask) for role in gang.roles)
    return replace(gang, running=(), roles=tuple(roles))


def _is_as_good(problem: Problem, gang: Job, assignments: Assignments, lost: float) -> bool:
    """Whether other assignments are worth no less than the present ones, slowed as they are."""
    weight = problem.priority_weight[gang.priority]
    new = replace(gang, running=())
    useful = weight * served_milli(gang, gang.running) * problem.weights.horizon_seconds
    stays = worth(problem, new, gang.running, weight) - int(lost * useful)
    return worth(problem, new, assignments, weight) >= stays
