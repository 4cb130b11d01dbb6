"""The placements that leave everything as it runs, from which the price of changes is measured."""

from dataclasses import replace

from plimsoll_placement.heuristics.greedy import Greedy, greedy_placements
from plimsoll_placement.model import Placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import stop_loss


def with_price(problem: Problem, greedy: Placements | None = None) -> Problem:
    """The problem with its undisturbed placements, so that changes have their price.

    What `greedy` places is taken for these if it stops nothing that may stay. Without anything that
    runs there is nothing to disturb.
    """
    known = problem.undisturbed is not None or problem.weights.break_even_percent == 0
    if known or not any(job.is_running for job in problem.jobs):
        return problem
    greedy = greedy_placements(problem) if greedy is None else greedy
    run = Greedy(problem)
    run.keep_running()
    is_calm = not _stops(problem, run.ledger.placed, greedy)
    return replace(problem, undisturbed=greedy if is_calm else run.fill_undisturbed())


def _stops(problem: Problem, kept: Placements, placements: Placements) -> bool:
    """Whether placements lose more work than what is kept of that which runs."""
    return any(
        stop_loss(job, placements.get(job.name, ())) > stop_loss(job, kept.get(job.name, ()))
        for job in problem.jobs
        if job.is_running
    )
