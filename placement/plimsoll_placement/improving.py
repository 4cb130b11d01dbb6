"""Improve greedy's placements within a time: several searches, one after the other.

A small problem is solved as a whole, node by node, to proven optimality if time allows. Otherwise a
linear program gives a bound and a starting point, a model over classes of like nodes sharpens both
if it is not too large, and large-neighbourhood search goes on from there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import plimsoll_placement.lp.solving as linear
from plimsoll_placement.check import violations
from plimsoll_placement.cpsat.exact.scope import Scope
from plimsoll_placement.cpsat.exact.solving import solved
from plimsoll_placement.cpsat.improve import improve
from plimsoll_placement.effort import Effort
from plimsoll_placement.heuristics.filling import filled
from plimsoll_placement.lns.problem_index import ProblemIndex
from plimsoll_placement.lns.searching import Search
from plimsoll_placement.model import Placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Outcome, Score, Solution

WHOLE_SHARE = 0.4
"""The share of the time that solving a small problem as a whole may take."""

MODEL_SHARE = 0.5
"""The share of the remaining time that the model over node classes may take."""

MOST_JOBS, MOST_COUNTS = 200, 3000
"""The limits of a small problem: jobs, and counts of pods by role and node."""

THINGS_PER_SECOND = 5_000
"""How many nodes and jobs can be examined per second before a model is begun."""


@dataclass(frozen=True, slots=True)
class _Progress:
    """The best solution so far, and the time left."""

    solution: Solution
    seconds: float


_Step = Callable[[Problem, _Progress], _Progress]


def improved(problem: Problem, start: Solution, effort: Effort) -> Solution:
    """A solution no worse than `start`, found within the effort."""
    progress = _Progress(start, effort.deterministic_seconds)
    return _improved(problem, progress, _steps(problem), effort.workers)


def found_at_first(problem: Problem, start: Solution, effort: Effort) -> Solution | None:
    """A solution of a large problem that needs no better start; None if greedy has to give one."""
    before = _Progress(start, effort.deterministic_seconds)
    progress = _improved_by_fluid(problem, before)
    if progress.solution.score <= start.score:
        return None
    return _improved(problem, progress, [_improved_by_model], effort.workers)


def _improved(
    problem: Problem, progress: _Progress, steps: Sequence[_Step], workers: int
) -> Solution:
    for step in steps:
        if progress.solution.outcome is not Outcome.OPTIMAL:
            progress = step(problem, progress)
    if progress.solution.outcome is Outcome.OPTIMAL:
        return progress.solution
    return _improved_by_neighbourhoods(problem, progress, workers)


def _steps(problem: Problem) -> list[_Step]:
    """The searches before the last.

    Most services alone are decided by classes as exactly as node by node, and far sooner.
    """
    by_classes, whole = [_improved_by_fluid, _improved_by_model], [_solved_whole]
    if not _is_small(problem):
        return by_classes
    has_gangs = any(job.gang for job in problem.jobs)
    return [*whole, *by_classes] if has_gangs else [*by_classes, *whole]


def _is_small(problem: Problem) -> bool:
    ground = ProblemIndex(problem)
    if len(ground.jobs) > MOST_JOBS:
        return False
    counts = (len(job.roles) * len(ground.rows_for(job)) for job in ground.jobs)
    return sum(counts) <= MOST_COUNTS


def _solved_whole(problem: Problem, progress: _Progress) -> _Progress:
    """Solve for every job that is not pinned, on any node."""
    start = progress.solution
    jobs = tuple(job for job in problem.jobs if not job.pinned)
    scope = Scope(problem, start.placements, jobs, frozenset(range(len(problem.nodes))))
    result = solved(scope, start.score, WHOLE_SHARE * progress.seconds)
    found = None if result.assignments is None else {**scope.outside, **result.assignments}
    bound = Score((*result.bound, *start.bound.levels[len(result.bound) :]))
    best = _better(problem, start, found, bound)
    return _Progress(best, progress.seconds - result.seconds)


def _improved_by_fluid(problem: Problem, progress: _Progress) -> _Progress:
    """Treat jobs as a fluid over node classes, which takes little time even for large clusters."""
    start = progress.solution
    if progress.seconds < _things(problem) / THINGS_PER_SECOND:
        return progress
    found = linear.solved(problem, start.score, start.bound, progress.seconds)
    best = _better(problem, start, found.placements, found.bound)
    return _Progress(best, progress.seconds - found.seconds)


def _improved_by_model(problem: Problem, progress: _Progress) -> _Progress:
    """Solve over classes of like nodes and jobs, which also bounds all placements."""
    start, allowed = progress.solution, MODEL_SHARE * progress.seconds
    if allowed < _things(problem) / THINGS_PER_SECOND:
        return progress
    found = improve(problem, start.placements, start.bound, allowed)
    best = _better(problem, start, found.placements, found.bound)
    if best.outcome is Outcome.GREEDY:
        best = replace(best, outcome=found.outcome)
    return _Progress(best, progress.seconds - (allowed - found.seconds_left))


def _improved_by_neighbourhoods(problem: Problem, progress: _Progress, workers: int) -> Solution:
    """Re-place one part after the other, and fill what that leaves.

    With time, but too little of it, nothing is left: the searches before end by filling.
    """
    start = progress.solution
    search = Search(problem, dict(start.placements), workers=workers)
    if progress.seconds > 0 and not search.is_worth(progress.seconds):
        return start
    search.run(progress.seconds, start.bound)
    found = _better(problem, start, search.placements, start.bound)
    return found if found.outcome is Outcome.OPTIMAL else _filled(problem, found)


def _filled(problem: Problem, found: Solution) -> Solution:
    """Use the room that a search left, because it had no time for the less important jobs."""
    return _better(problem, found, filled(problem, found.placements), found.bound)


def _things(problem: Problem) -> int:
    return len(problem.nodes) + len(problem.jobs)


def _better(
    problem: Problem, start: Solution, placements: Placements | None, bound: Score
) -> Solution:
    """The better of a solution and other placements, if those are sound; with the lower bounds."""
    levels = zip(start.bound.levels, bound.levels, strict=True)
    best = replace(start, bound=Score(tuple(min(pair) for pair in levels)))
    if placements is not None and not violations(problem, placements):
        reached = score(problem, placements)
        if reached > best.score:
            best = Solution(placements, reached, best.bound, Outcome.IMPROVED)
    if best.score >= best.bound:
        return replace(best, outcome=Outcome.OPTIMAL)
    return best
