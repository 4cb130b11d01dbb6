"""Which running replicas may stay where they are, leaving capacity aside.

Capacity is left aside because others may need it more.
"""

from collections.abc import Iterable

from plimsoll_placement.model import Assignment, Assignments, Job, NodeName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import domain_of


def stayable(problem: Problem, job: Job) -> Assignments:
    """The running replicas that may stay: all or none of a gang, as any change restarts it."""
    stays = tuple(a for a in job.running if _may_stay(problem, job, a))
    if not job.gang:
        return stays
    is_whole = len(stays) == len(job.running) and len(stays) in job.roles[0].counts
    types = {a.gpu_type for a in stays}
    nodes = [name for a in stays for name in a.nodes]
    in_place = _in_one_domain(problem, job, nodes) and spot_share_holds(problem, job, stays)
    return stays if is_whole and len(types) == 1 and in_place else ()


def _may_stay(problem: Problem, job: Job, assignment: Assignment) -> bool:
    role = next((r for r in job.roles if r.name == assignment.role), None)
    if role is None or assignment.gpu_type not in role.yields:
        return False
    if len(assignment.nodes) != role.pods_per_replica:
        return False
    rows = [problem.node_index.get(name) for name in assignment.nodes]
    return all(
        row is not None and problem.nodes[row].usable and role.eligible >> row & 1 for row in rows
    ) and _in_one_domain(problem, job, assignment.nodes)


def _in_one_domain(problem: Problem, job: Job, nodes: Iterable[NodeName]) -> bool:
    """Whether nodes are in one domain of the level that the job requires, if it requires one."""
    level = job.required_level
    return level is None or len({domain_of(problem, name, level) for name in nodes}) <= 1


def is_on_spot(problem: Problem, assignment: Assignment) -> bool:
    """Whether any of a replica's pods is on a spot node."""
    return any(problem.nodes[problem.node_index[name]].spot for name in assignment.nodes)


def spot_share_holds(problem: Problem, job: Job, placed: Assignments) -> bool:
    """Whether no more of the replicas are on spot nodes than the job allows."""
    on_spot = sum(is_on_spot(problem, assignment) for assignment in placed)
    return on_spot * 100 <= job.spot_percent * len(placed)


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
