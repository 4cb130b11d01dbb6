"""How much of a plan for what the cluster was can still be had in what it is now.

The plan is tried job by job over what runs. Who cannot have what was planned keeps what it runs; if
that is taken, the plan costs a place that it did not mean to, which shows in its score.
"""

from collections.abc import Mapping

from plimsoll_placement.check import violations
from plimsoll_placement.model import Assignments, JobName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.bound import simple_bound
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Outcome, Solution
from plimsoll_placement.state.ledger import Ledger


def carried(problem: Problem, wanted: Mapping[JobName, Assignments]) -> Solution | None:
    """What can be had of some placements; None if that is unsound or no better than what runs.

    A job that is not named in `wanted` keeps what it runs. What runs must be of roles that its jobs
    still have.
    """
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
    """Who stays first, then who is to move, change size or come, the important before others."""
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
