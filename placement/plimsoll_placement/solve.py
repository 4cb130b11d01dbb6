"""From a problem to a checked solution: greedy at once, then what searches improve on it.

The effort is bounded by deterministic time, so that the same problem gives the same solution.
"""

from collections.abc import Mapping

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
    effort = effort or Effort()
    bound = simple_bound(problem)
    best = _greedy(problem, bound)
    if best.score >= bound or effort.deterministic_seconds <= 0:
        return best
    # OR-Tools takes half a second and 100 MiB to load, and is often not needed.
    from plimsoll_placement.improving import improved  # noqa: PLC0415

    return improved(problem, best, effort)


def _greedy(problem: Problem, bound: Score) -> Solution:
    best = max(_sound(problem), key=lambda placements: score(problem, placements))
    reached = score(problem, best)
    outcome = Outcome.OPTIMAL if reached >= bound else Outcome.GREEDY
    return Solution(best, reached, bound, outcome)


def _sound(problem: Problem) -> list[Placements]:
    """Greedy's placements, and those that stand already, as far as nothing is wrong with them.

    Where that leaves nothing, only what is pinned stays, which is always sound.
    """
    running = {job.name: job.running for job in problem.jobs if job.running}
    greedy = greedy_placements(problem)
    found: list[Placements] = [greedy] if greedy == running else [greedy, running]
    sound = [placements for placements in found if not violations(problem, placements)]
    if sound:
        return sound
    pinned = {job.name: job.running for job in problem.jobs if job.pinned}
    require_sound(problem, pinned)
    return [pinned]
