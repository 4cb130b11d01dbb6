"""Which running replicas may stay where they are, leaving capacity aside.

Capacity is left aside because others may need it more.
"""

from collections import Counter
from collections.abc import Iterable

from plimsoll_placement.model import Assignment, Assignments, Job, NodeName, Role
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import domain_of


def stayable(problem: Problem, job: Job) -> Assignments:
    """The running replicas that may stay: all or none of a gang, as any change restarts it."""
    stays = tuple(a for a in job.running if _may_stay(problem, job, a))
    if not job.gang:
        return stays
    if len(stays) < len(job.running) or not is_one_size(job, stays):
        return ()
    return stays if all(_is_in_place(problem, job, role, stays) for role in job.roles) else ()


def is_one_size(job: Job, assignments: Assignments) -> bool:
    """Whether a gang has of each of its roles what it needs at one of its sizes."""
    counts = Counter(assignment.role for assignment in assignments)
    lead = job.roles[0]
    if counts[lead.name] not in lead.counts:
        return False
    at = lead.counts.index(counts[lead.name])
    return all(counts[role.name] == role.counts[at] for role in job.companions)


def _is_in_place(problem: Problem, job: Job, role: Role, placed: Assignments) -> bool:
    """Whether what a gang has of a role is on one type, in one domain, and not too much on spot."""
    mine = tuple(each for each in placed if each.role == role.name)
    names = [name for each in mine for name in each.nodes]
    level, percent = limits_of(job, role)
    return (
        len({each.gpu_type for each in mine}) <= 1
        and in_one_domain(problem, level, names)
        and _spot_share_holds(problem, percent, mine)
    )


def limits_of(job: Job, role: Role) -> tuple[int | None, int]:
    """The level at which a gang's role must be in one domain, and its largest share on spot."""
    if role.name == job.roles[0].name:
        return job.required_level, job.spot_percent
    return role.required_level, role.spot_percent


def _may_stay(problem: Problem, job: Job, assignment: Assignment) -> bool:
    role = next((r for r in job.roles if r.name == assignment.role), None)
    if role is None or assignment.gpu_type not in role.yields:
        return False
    if len(assignment.nodes) != role.pods_per_replica:
        return False
    rows = [problem.node_index.get(name) for name in assignment.nodes]
    return all(
        row is not None and problem.nodes[row].usable and role.eligible >> row & 1 for row in rows
    ) and (job.gang or in_one_domain(problem, job.required_level, assignment.nodes))


def in_one_domain(problem: Problem, level: int | None, nodes: Iterable[NodeName]) -> bool:
    """Whether nodes are in one domain of a level, if one is required."""
    return level is None or len({domain_of(problem, name, level) for name in nodes}) <= 1


def is_on_spot(problem: Problem, assignment: Assignment) -> bool:
    """Whether any of a replica's pods is on a spot node."""
    return any(problem.nodes[problem.node_index[name]].spot for name in assignment.nodes)


def spot_share_holds(problem: Problem, job: Job, placed: Assignments) -> bool:
    """Whether no more of the replicas are on spot nodes than the job allows, or a gang's roles."""
    if not job.companions:
        return _spot_share_holds(problem, job.spot_percent, placed)
    return all(
        _spot_share_holds(
            problem, limits_of(job, role)[1], tuple(a for a in placed if a.role == role.name)
        )
        for role in job.roles
    )


def _spot_share_holds(problem: Problem, percent: int, placed: Assignments) -> bool:
    on_spot = sum(is_on_spot(problem, assignment) for assignment in placed)
    return on_spot * 100 <= percent * len(placed)


def within_spot_share(problem: Problem, job: Job, placed: Assignments) -> Assignments:
    """The replicas, less the last ones on spot nodes that exceed the job's share."""
    kept = placed
    for assignment in reversed(placed):
        if spot_share_holds(problem, job, kept):
            break
        if is_on_spot(problem, assignment):
            kept = tuple(a for a in kept if a != assignment)
    return kept


def moves_off_closed(problem: Problem, job: Job, placed: Iterable[Assignment]) -> bool:
    """Whether replicas are on a closed node, where they may stay but not start anew."""
    return job.is_running and not all(
        problem.nodes[problem.node_index[name]].open for a in placed for name in a.nodes
    )
