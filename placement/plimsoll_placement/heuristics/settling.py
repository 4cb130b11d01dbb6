"""Pin the gangs that no plan can pay for or afford to stop, so that searches need not try."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from plimsoll_placement.model import Job, JobName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.bound import BestWorth, simple_bound
from plimsoll_placement.score.budget import always_counted
from plimsoll_placement.score.price import gross_worth, pays, weighed_loss
from plimsoll_placement.score.score import score


def settled(problem: Problem) -> Problem:
    """The problem with every gang pinned whose stop costs more than can be gained, or than allowed.

    Every plan whose changes pay keeps these as they are, so a bound for the result holds for all
    such plans. While a guarantee is short nothing is settled: it has no price. Nor is anything if
    queues could then claim more or less than before.
    """
    if problem.baseline is None:
        return problem
    fixed = frozenset(_fixed(problem))
    if not fixed or not _guarantees_are_met(problem):
        return problem
    jobs = tuple(replace(job, pinned=True) if job.name in fixed else job for job in problem.jobs)
    pinned = replace(problem, jobs=jobs)
    return pinned if pinned.entitlements == problem.entitlements else problem


def _fixed(problem: Problem) -> Iterator[JobName]:
    """The gangs whose stop costs more than jobs of no lower priority can gain, or than allowed."""
    baseline, allowance = problem.baseline or {}, problem.loss_allowance
    best, gain, counted = BestWorth(problem), 0, always_counted(problem)
    jobs = sorted(problem.jobs, key=lambda job: -job.priority)
    for priority, alike in groupby(jobs, key=lambda job: job.priority):
        mine, weight = list(alike), problem.priority_weight[priority]
        for job in mine:
            placed = baseline.get(job.name, ())
            most = best.of(job, weight) - gross_worth(problem, job, placed, weight)
            gain += max(0, most) + weighed_loss(problem, job, job.running, placed)
        for job in mine:
            if _goes_on(job, problem):
                loss = weighed_loss(problem, job, job.running, ())
                is_beyond = allowance is not None and counted.get(job.name, 0) > allowance
                if is_beyond or not pays(problem, gain, loss):
                    yield job.name


def _goes_on(job: Job, problem: Problem) -> bool:
    """Whether a gang that may be moved runs on as it is in the baseline."""
    placed = (problem.baseline or {}).get(job.name, ())
    return job.gang and not job.pinned and job.is_running and set(placed) == set(job.running)


def _guarantees_are_met(problem: Problem) -> bool:
    """Whether no plan can give a queue more of what it is guaranteed than the baseline."""
    if not problem.entitlements:
        return True
    reached = score(problem, problem.baseline or {})
    return reached.levels[0] >= simple_bound(problem).levels[0]
