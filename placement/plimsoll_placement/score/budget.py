"""Whose work the disruption budget protects whatever the other jobs do (see `score/price.py`)."""

from plimsoll_placement.model import Assignments, Job, JobName, Role
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.price import lost_beyond
from plimsoll_placement.score.score import guaranteed_in_use, least_use
from plimsoll_placement.score.worth import served_milli


def always_counted(problem: Problem) -> dict[JobName, int]:
    """The running gangs whose stop counts in any plan, and what it counts, in milli-GPU-seconds.

    They have only one size: a resize does not count.
    No job of a higher priority could do more than in the baseline, and pay for it. Empty while a
    guarantee is short, which may cost anything.
    """
    baseline = problem.baseline
    if baseline is None or problem.loss_allowance is None or not _guarantees_are_met(problem):
        return {}
    gaining = (job for job in problem.jobs if _may_gain(job, baseline.get(job.name, ())))
    top = max((job.priority for job in gaining), default=min(problem.priorities, default=0))
    found = {
        job.name: lost_beyond(job, baseline.get(job.name, ()), ())
        for job in problem.jobs
        if job.priority >= top and _has_one_size(job) and not job.pinned
    }
    return {name: lost for name, lost in found.items() if lost}


def _guarantees_are_met(problem: Problem) -> bool:
    """Whether queues use all that they can claim of their guarantees in the baseline."""
    claimed = sum(problem.entitlements.values())
    if not claimed:
        return True
    return guaranteed_in_use(problem, least_use(problem, problem.baseline or {})) >= claimed


def _has_one_size(job: Job) -> bool:
    return job.gang and job.is_running and job.roles[0].counts == (job.size(job.running),)


def _may_gain(job: Job, placed: Assignments) -> bool:
    return not job.pinned and served_milli(job, placed) < sum(map(_most_milli, job.roles))


def _most_milli(role: Role) -> int:
    if role.mixable:
        return role.wanted_milli
    return max((value for milli in role.yields.values() for value in milli), default=0)
