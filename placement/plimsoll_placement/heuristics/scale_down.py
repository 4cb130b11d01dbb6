"""Replicas of services that nobody needs: the others carry without them all that is wanted."""

from collections.abc import Callable, Iterator, Mapping

from plimsoll_placement.model import Assignment, Job, JobName, Role
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import pod_price

Seats = tuple[Assignment, ...]
Order = Callable[[Assignment], tuple[object, ...]]


def surplus(role: Role, seats: Seats, order: Order) -> Iterator[Assignment]:
    """Of a mixable role's seats the first in this order, as many as the others do without."""
    mine = sorted((seat for seat in seats if seat.role == role.name), key=order)
    left, carried = len(mine), sum(role.carries(seat.gpu_type) for seat in mine)
    for seat in mine:
        rest = carried - role.carries(seat.gpu_type)
        too_many = left > role.counts[-1]
        enough = left > max(role.least, role.wanted_count) and rest >= role.wanted_milli
        if too_many or enough:
            left, carried = left - 1, rest
            yield seat


def without_idle_replicas(
    problem: Problem, placements: Mapping[JobName, Seats]
) -> Mapping[JobName, Seats]:
    """The placements without new replicas that services do not need; what is pinned stays."""
    lighter = {
        job.name: needed
        for job in problem.jobs
        if not job.gang and not job.pinned and job.name in placements
        if (needed := _needed(problem, job, placements[job.name])) != placements[job.name]
    }
    return {**placements, **lighter} if lighter else placements


def _needed(problem: Problem, job: Job, seats: Seats) -> Seats:
    if not seats:
        return seats
    running, order = set(job.running), _new_and_dear_first(problem, job)
    gone = {seat for role in job.roles for seat in surplus(role, seats, order)} - running
    return tuple(seat for seat in seats if seat not in gone)


def _new_and_dear_first(problem: Problem, job: Job) -> Order:
    running, index = set(job.running), problem.node_index

    def key(seat: Assignment) -> tuple[object, ...]:
        role = job.role(seat.role)
        known = (problem.nodes[index[name]] for name in seat.nodes if name in index)
        price = sum(pod_price(problem, job, role, node) for node in known)
        dear = -price / max(role.carries(seat.gpu_type), 1)
        return seat in running, dear, -seat.replica

    return key
