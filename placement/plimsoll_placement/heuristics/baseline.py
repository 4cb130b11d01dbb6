"""The placements that disturb only what is due, from which the price of changes is measured."""

from plimsoll_placement.heuristics.greedy import Greedy
from plimsoll_placement.heuristics.making_room import with_moves
from plimsoll_placement.model import Placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import stop_loss


def with_baseline(problem: Problem) -> Problem:
    """The problem with its baseline, so that changes have their price."""
    return problem if problem.baseline is not None else _begun(problem)[0]


def with_greedy(problem: Problem) -> tuple[Problem, tuple[Placements, ...]]:
    """The problem with its baseline, and greedy's placements, without and with moves.

    If the first stop nothing that may stay, they are the baseline. Without anything that runs there
    is nothing to disturb, and no price.
    """
    problem, greedy, placements = _begun(problem)
    moved = with_moves(greedy, problem.baseline or {})
    return problem, (placements,) if moved is None else (placements, moved)


def _begun(problem: Problem) -> tuple[Problem, Greedy, Placements]:
    greedy = Greedy.over_what_runs(problem)
    kept = dict(greedy.ledger.placed)
    placements = greedy.complete()
    if problem.baseline is not None or not _has_price(problem):
        return problem, greedy, placements
    if not _stops(problem, kept, placements):
        return problem.with_baseline(placements), greedy, placements
    other = Greedy.over_what_runs(problem, number=1)
    return problem.with_baseline(other.only_due()), greedy, placements


def _has_price(problem: Problem) -> bool:
    is_limited = problem.weights.break_even_percent or problem.loss_allowance is not None
    return bool(is_limited) and any(job.running for job in problem.jobs)


def _stops(problem: Problem, kept: Placements, placements: Placements) -> bool:
    """Whether placements lose more work than what is kept of that which runs."""
    for job in problem.jobs:
        was, now = kept.get(job.name, ()), placements.get(job.name, ())
        if job.running and was != now and stop_loss(job, now) > stop_loss(job, was):
            return True
    return False
