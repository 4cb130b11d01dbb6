"""From a problem to a checked solution: greedy at once, then what searches improve on it.

The effort is bounded by deterministic time, so that the same problem gives the same solution.
"""

import gc
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from plimsoll_placement.bound import simple_bound
from plimsoll_placement.check import require_sound, violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.greedy import greedy_placements
from plimsoll_placement.problem import Assignment, JobName, Problem
from plimsoll_placement.score import score
from plimsoll_placement.solution import Outcome, Score, Solution

Placements = Mapping[JobName, tuple[Assignment, ...]]


def solve(problem: Problem, effort: Effort | None = None) -> Solution:
    """The best placements found within the effort; they pass `check.py`.

    What runs now and breaks no rule is also an answer, so that a plan is never worse than none.
    """
    with _no_collection():
        effort = effort or Effort()
        best = _at_once(problem)
        if best.outcome is Outcome.OPTIMAL or effort.deterministic_seconds <= 0:
            return best
        # OR-Tools takes half a second and 100 MiB to load, and is often not needed.
        from plimsoll_placement.improving import improved  # noqa: PLC0415

        return improved(problem, best, effort)


@contextmanager
def _no_collection() -> Generator[None]:
    """Leave cycles alone for a while: looking for them takes a tenth of the time, and finds few."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _at_once(problem: Problem) -> Solution:
    """Greedy's placements, or those that stand already if nothing is wrong with them, the better.

    Where neither is sound, only what is pinned stays, which is always sound.
    """
    candidates: list[Placements] = [greedy_placements(problem)]
    if all(job.knows_its_roles for job in problem.jobs):
        candidates.append({job.name: job.running for job in problem.jobs if job.running})
    found = [(score(problem, each), each) for each in candidates]
    for reached, placements in sorted(found, key=lambda pair: pair[0], reverse=True):
        if not violations(problem, placements):
            return _solution(problem, reached, placements)
    pinned = {job.name: job.running for job in problem.jobs if job.pinned}
    require_sound(problem, pinned)
    return _solution(problem, score(problem, pinned), pinned)


def _solution(problem: Problem, reached: Score, placements: Placements) -> Solution:
    bound = simple_bound(problem, reached)
    outcome = Outcome.OPTIMAL if reached >= bound else Outcome.GREEDY
    return Solution(placements, reached, bound, outcome)
