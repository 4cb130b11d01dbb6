"""Large-neighbourhood search: free some jobs and nodes, place them anew, keep improvements.

Time is counted deterministically and randomness comes from a fixed seed, so that the same problem
has the same plan with the same number of workers. The workers solve disjoint neighbourhoods side by
side.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from random import Random

from plimsoll_placement.check import violations
from plimsoll_placement.cpsat.exact.scope import Scope
from plimsoll_placement.cpsat.exact.solving import ExactResult, solved
from plimsoll_placement.lns.choosing import Arm, drawn_arm
from plimsoll_placement.lns.drawing import drawn_scope
from plimsoll_placement.lns.kinds import KINDS
from plimsoll_placement.lns.problem_index import ProblemIndex
from plimsoll_placement.lns.view import Placements, View
from plimsoll_placement.model import JobName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Score

LEAST_SECONDS_AT_ONCE = 0.25
SHARE_AT_ONCE = 0.025
"""The share of the total time that one neighbourhood may take; more time allows larger ones."""

LEAST_TRIES = 6 * len(KINDS)
FEWEST_TRIES = 10
IDLE_SHARE = 0.3
"""The search ends when this many tries in a row and this share of the time yield nothing."""

THINGS_PER_SECOND = 60_000
"""How many nodes and jobs can be examined per second, to draw a neighbourhood and count."""


@dataclass(frozen=True, slots=True)
class _Try:
    """A neighbourhood of one of the kinds."""

    arm: Arm
    scope: Scope


class Search:
    """One search, starting from sound placements; `placements` and `score` are the best so far."""

    def __init__(self, problem: Problem, placements: Placements, *, workers: int = 1) -> None:
        self.problem = problem
        self.placements = placements
        self.score: Score = score(problem, placements)
        self.workers = workers
        self._ground = ProblemIndex(problem)
        self._view = View(self._ground, placements)
        self._rng = Random(0)  # noqa: S311 - a search, not a secret
        self._arms = [Arm() for _ in KINDS]
        self._overhead = (len(problem.nodes) + len(problem.jobs)) / THINGS_PER_SECOND

    def is_worth(self, seconds: float) -> bool:
        """Whether there is time for enough neighbourhoods for one to help."""
        return seconds > FEWEST_TRIES * self._overhead

    def run(self, seconds: float, bound: Score) -> None:
        """Search until the time is up, the bound is reached, or nothing has helped for a while."""
        left, at_once = seconds, max(LEAST_SECONDS_AT_ONCE, SHARE_AT_ONCE * seconds)
        idle_tries, idle_seconds = 0, 0.0
        with ThreadPoolExecutor(self.workers) as pool:
            while left > 0 and self.score < bound:
                before = self.score
                spent = self._round(pool, min(left, at_once))
                left -= spent
                if self.score > before:
                    idle_tries, idle_seconds = 0, 0.0
                idle_tries, idle_seconds = idle_tries + self.workers, idle_seconds + spent
                if idle_tries > LEAST_TRIES and idle_seconds > IDLE_SHARE * seconds:
                    break

    def _round(self, pool: ThreadPoolExecutor, seconds: float) -> float:
        """Solve one neighbourhood for each worker; return how long that took."""
        tries = list(self._tries(seconds))
        tasks = [pool.submit(solved, one.scope, self.score, seconds) for one in tries]
        results = [task.result() for task in tasks]
        for one, result in zip(tries, results, strict=True):
            self._learn(one, result, seconds)
        return self._overhead + max((each.seconds for each in results), default=0)

    def _tries(self, seconds: float) -> Iterator[_Try]:
        """One neighbourhood for each worker, with no job or node in common."""
        view, taken, rows = self._view, set[JobName](), set[int]()
        for _ in range(self.workers):
            place = drawn_arm(self._arms, self._rng)
            arm = self._arms[place]
            scope = drawn_scope(view, KINDS[place], self._rng, int(arm.rows))
            if scope is None:
                arm.record(gained=False, seconds=seconds)
                continue
            jobs = tuple(job for job in scope.jobs if job.name not in taken)
            if jobs:
                yield _Try(arm, replace(scope, jobs=jobs, rows=scope.rows - rows))
            taken |= scope.names
            rows |= scope.rows

    def _learn(self, one: _Try, result: ExactResult, most_seconds: float) -> None:
        seconds = self._overhead + result.seconds
        one.arm.record(gained=self._accept(one.scope, result), seconds=seconds)
        one.arm.resize(
            is_proven=result.is_proven, seconds=result.seconds, most_seconds=most_seconds
        )

    def _accept(self, scope: Scope, result: ExactResult) -> bool:
        """Accept assignments that improve the whole; return whether they do.

        Another neighbourhood of the same round may have used up a queue's quota or power first.
        """
        if result.assignments is None:
            return False
        others = {name: s for name, s in self.placements.items() if name not in scope.names}
        placements = {**others, **result.assignments}
        reached = score(self.problem, placements)
        if reached <= self.score or violations(self.problem, placements):
            return False
        self.placements, self.score = placements, reached
        self._view = View(self._ground, placements)
        return True
