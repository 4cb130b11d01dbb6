"""Remove replicas that a service does not need: the others carry everything that is wanted."""

from collections.abc import Callable, Iterator, Mapping

from plimsoll_placement.model import Assignment, Assignments, Job, JobName, Role
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import pod_price

Order = Callable[[Assignment], tuple[object, ...]]


def scale_down_order(role: Role, assignments: Assignments, order: Order) -> Iterator[Assignment]:
    """The first of a mixable role's assignments in this order, as many as it can do without."""
    mine = sorted(
        (assignment for assignment in assignments if assignment.role == role.name), key=order
    )
    left, carried = len(mine), sum(role.carries(assignment.gpu_type) for assignment in mine)
    for assignment in mine:
        rest = carried - role.carries(assignment.gpu_type)
        too_many = left > role.counts[-1]
        enough = left > max(role.least, role.wanted_count) and rest >= role.wanted_load
        if too_many or enough:
            left, carried = left - 1, rest
            yield assignment


def without_idle_replicas(
    problem: Problem, placements: Mapping[JobName, Assignments]
) -> Mapping[JobName, Assignments]:
    """The placements without new replicas that services do not need; pinned ones stay."""
    lighter = {
        job.name: needed
        for job in problem.jobs
        if not job.gang and not job.pinned and job.name in placements
        if (needed := _needed(problem, job, placements[job.name])) != placements[job.name]
    }
    return {**placements, **lighter} if lighter else placements


def _needed(problem: Problem, job: Job, assignments: Assignments) -> Assignments:
    if not assignments:
        return assignments
    running, order = set(job.running), _new_and_dear_first(problem, job)
    gone = {
        assignment
        for role in job.roles
        for assignment in scale_down_order(role, assignments, order)
    } - running
    return tuple(assignment for assignment in assignments if assignment not in gone)


def _new_and_dear_first(problem: Problem, job: Job) -> Order:
    running, index = set(job.running), problem.node_index

    def key(assignment: Assignment) -> tuple[object, ...]:
        role = job.role(assignment.role)
        known = (problem.nodes[index[name]] for name in assignment.nodes if name in index)
        price = sum(pod_price(problem, job, role, node) for node in known)
        dear = -price / max(role.carries(assignment.gpu_type), 1)
        return assignment in running, dear, -assignment.replica

    return key
