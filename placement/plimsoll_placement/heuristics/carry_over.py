"""What of a plan for an earlier state of the cluster can still be carried out now.

The plan is tried job by job over what runs. A job that cannot have what was planned keeps what it
runs; if that is taken, the plan has cost it a place unintentionally, and its score shows it.
"""

from collections.abc import Mapping

from plimsoll_placement.check import violations
from plimsoll_placement.heuristics.baseline import with_baseline
from plimsoll_placement.model import Assignments, JobName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.bound import simple_bound
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Outcome, Solution
from plimsoll_placement.state.ledger import Ledger


def carried(problem: Problem, wanted: Mapping[JobName, Assignments]) -> Solution | None:
    """What can be had of some placements; None if that is unsound or no better than what runs.

    A job that `wanted` does not name keeps what it runs. Everything that runs must belong to roles
    that its job still has.
    """
    problem = with_baseline(problem)
    placements = _placements(problem, wanted)
    if violations(problem, placements):
        return None
    reached = score(problem, placements)
    if reached <= score(problem, _running(problem)):
        return None
    return Solution(placements, reached, simple_bound(problem, reached), Outcome.IMPROVED)


def _running(problem: Problem) -> dict[JobName, Assignments]:
    return {job.name: job.running for job in problem.jobs if job.running}


def _placements(
    problem: Problem, wanted: Mapping[JobName, Assignments]
) -> dict[JobName, Assignments]:
    """Jobs that stay first, then those that move, resize or start, the important before others."""
    ledger = Ledger(problem)
    for job in problem.jobs:
        if job.pinned:
            ledger.hold(job)
    free = (job for job in problem.jobs if not job.pinned)
    goals = [(job, wanted.get(job.name, job.running)) for job in free]
    goals.sort(key=lambda each: (each[1] != each[0].running, -each[0].priority))
    for job, goal in goals:
        if goal and not ledger.take(job, goal):
            ledger.take(job, job.running)
    return dict(ledger.placed)
