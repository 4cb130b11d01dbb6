"""From a problem to a checked solution: greedy at once, then what searches improve.

The effort is bounded by deterministic time, so that the same problem gives the same solution.
"""

import gc
import importlib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from plimsoll_placement.check import require_sound, violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.heuristics.baseline import with_greedy
from plimsoll_placement.heuristics.filling import filled
from plimsoll_placement.heuristics.scale_down import without_idle_replicas
from plimsoll_placement.heuristics.settling import settled
from plimsoll_placement.heuristics.spreading import with_spread
from plimsoll_placement.memory import Memory
from plimsoll_placement.model import Placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.bound import simple_bound
from plimsoll_placement.score.score import score
from plimsoll_placement.sharing.seating import with_seats
from plimsoll_placement.solution import Outcome, Score, Solution

MANY = 10_000
"""So many nodes and jobs make a cluster large."""


class Solver:
    """Solves one problem after the other, by one thread; what is as it was costs little.

    Nodes and jobs that equal those of the last problem are taken for the same ones. The solutions
    are those of `solve` and `solve_lean`.
    """

    def __init__(self) -> None:
        self._memory = Memory()

    def solve(self, problem: Problem, effort: Effort | None = None) -> Solution:
        """See `solve`."""
        return self._told(solve, problem, effort)

    def solve_lean(self, problem: Problem, effort: Effort | None = None) -> Solution:
        """See `solve_lean`."""
        return self._told(solve_lean, problem, effort)

    def _told(
        self,
        search: Callable[[Problem, Effort | None], Solution],
        problem: Problem,
        effort: Effort | None,
    ) -> Solution:
        memory, self._memory = self._memory, Memory()
        solution = search(problem.remembered(memory), effort)
        self._memory = memory  # not after an error, which may have come halfway
        return solution


def solve(problem: Problem, effort: Effort | None = None) -> Solution:
    """The best placements found within the effort; they pass `check/`.

    What runs now is also a candidate if it breaks no rule, so a plan is never worse than none.
    """
    problem = _with_memory(problem)
    with _no_collection():
        return _solved(problem, effort or Effort())[1]


def solve_lean(problem: Problem, effort: Effort | None = None) -> Solution:
    """The same without replicas that services do not need, for plans that are carried out.

    A queue's guarantee counts whatever its jobs hold, and would be filled with idle replicas. Those
    that already run stay, and all stay if a rule would otherwise break: the share of spot may be
    such a rule. Jobs that wait get the room. A result no better than what runs is not worth a
    change. New replicas of a service are spread, and those with parts of GPUs are seated where they
    do least to each other.
    """
    effort, problem = effort or Effort(), _with_memory(problem)
    with _no_collection():
        found = with_spread(problem, _lean(problem, effort))
        return with_seats(problem, found, effort.sharing_states)


def _with_memory(problem: Problem) -> Problem:
    """The problem with a memory of its own, if it has none."""
    return problem if problem.memory is not None else problem.remembered(Memory())


def _solved(problem: Problem, effort: Effort) -> tuple[Problem, Solution]:
    """The solution, and the problem with the baseline by which its changes were priced."""
    found = _as_it_runs(problem) or _from_nothing(problem, effort)
    if found is not None:
        return problem, found
    problem, greedy = with_greedy(problem)
    return problem, _best(problem, greedy, effort)


def _from_nothing(problem: Problem, effort: Effort) -> Solution | None:
    """What a search finds in a large cluster where nothing runs; None if greedy has to begin.

    The linear program finds all that greedy does there, which would take seconds for nothing.
    """
    is_large = len(problem.nodes) + len(problem.jobs) >= MANY
    if not is_large or effort.deterministic_seconds <= 0 or any(j.running for j in problem.jobs):
        return None
    from plimsoll_placement.improving import found_at_first  # noqa: PLC0415 - see below

    start = _solution(problem, score(problem, {}), {})
    return found_at_first(problem, start, effort)


def _lean(problem: Problem, effort: Effort) -> Solution:
    problem, found = _solved(problem, effort)
    placements = without_idle_replicas(problem, found.placements)
    if placements == found.placements or violations(problem, placements):
        return found
    placements = _worth_a_change(problem, _filled(problem, placements))
    reached = score(problem, placements)
    bound = reached if found.outcome is Outcome.OPTIMAL else found.bound
    return replace(found, placements=placements, score=reached, bound=bound)


def _filled(problem: Problem, placements: Placements) -> Placements:
    """The placements, and what fits beside them, except further idle replicas."""
    more = without_idle_replicas(problem, filled(problem, placements))
    is_better = score(problem, more) > score(problem, placements)
    return more if is_better and not violations(problem, more) else placements


def load() -> None:
    """Load in advance what only a search needs, for callers with no time for it later."""
    importlib.import_module("plimsoll_placement.improving")


def _as_it_runs(problem: Problem) -> Solution | None:
    """What runs, if nothing waits and nothing can be better: then there is nothing to search.

    What disturbs nothing has no price, so this needs no baseline.
    """
    if not all(job.running for job in problem.jobs):
        return None
    running = _running(problem)
    if running is None:
        return None
    found = _solution(problem, score(problem, running), running)
    is_best = found.outcome is Outcome.OPTIMAL and not violations(problem, running)
    return found if is_best else None


def _best(problem: Problem, greedy: Sequence[Placements], effort: Effort) -> Solution:
    best = _at_once(problem, greedy)
    if best.outcome is Outcome.OPTIMAL or effort.deterministic_seconds <= 0:
        return best
    if best.score.unpaid == 0:
        problem = settled(problem)
        best = _solution(problem, best.score, best.placements)
    if best.outcome is Outcome.OPTIMAL:
        return best
    # OR-Tools takes half a second and 100 MiB to load, and is often not needed.
    from plimsoll_placement.improving import improved  # noqa: PLC0415

    return improved(problem, best, effort)


@contextmanager
def _no_collection() -> Generator[None]:
    """Disable garbage collection: looking for cycles takes a tenth of the time and finds few."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _at_once(problem: Problem, greedy: Sequence[Placements]) -> Solution:
    """What runs, the baseline, or greedy's placements: the best that is sound.

    If none is sound, only what is pinned stays, which is always sound.
    """
    running, baseline = _running(problem), problem.baseline
    others = () if any(baseline is each for each in greedy) else (baseline,)
    candidates = [each for each in (running, *others, *greedy) if each is not None]
    found = [(score(problem, each), each) for each in candidates]
    for reached, placements in sorted(found, key=lambda pair: pair[0], reverse=True):
        if not violations(problem, placements):
            return _solution(problem, reached, placements)
    pinned = {job.name: job.running for job in problem.jobs if job.pinned}
    require_sound(problem, pinned)
    return _solution(problem, score(problem, pinned), pinned)


def _worth_a_change(problem: Problem, placements: Placements) -> Placements:
    """The placements, or what runs, filled, if that may go on and is as good."""
    running = _running(problem)
    if running is None or score(problem, running) < score(problem, placements):
        return placements
    return placements if violations(problem, running) else _filled(problem, running)


def _running(problem: Problem) -> Placements | None:
    """What runs; None if part of it has no score because its job has changed."""
    if not all(job.knows_its_roles for job in problem.jobs):
        return None
    return {job.name: job.running for job in problem.jobs if job.running}


def _solution(problem: Problem, reached: Score, placements: Placements) -> Solution:
    bound = simple_bound(problem, reached)
    outcome = Outcome.OPTIMAL if reached >= bound else Outcome.GREEDY
    return Solution(placements, reached, bound, outcome)
