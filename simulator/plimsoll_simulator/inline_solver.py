"""A solver that searches at once, in no time of the cluster's."""

import time
from dataclasses import replace

from plimsoll_placement.effort import Effort
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Solution
from plimsoll_placement.solve import load, solve_lean


class InlineSolver:
    """Does what the operator's own process does, with at most that much effort."""

    def __init__(self, most_seconds: float) -> None:
        self._most_seconds = most_seconds
        self.seconds: list[float] = []
        """The CPU seconds of each plan."""

    def warm_up(self) -> None:
        """Load all code now."""
        load()

    async def solve(self, problem: Problem, effort: Effort) -> Solution:
        """The best placements found; raises UnsoundPlanError if no sound ones are found."""
        seconds = min(effort.deterministic_seconds, self._most_seconds)
        begun = time.process_time()
        try:
            return solve_lean(problem, replace(effort, deterministic_seconds=seconds))
        finally:
            self.seconds.append(time.process_time() - begun)

    async def search(self, problem: Problem, effort: Effort) -> Solution | None:
        """The same."""
        return await self.solve(problem, effort)

    async def estimate(self, problem: Problem) -> Solution | None:
        """Good placements at once."""
        return solve_lean(problem, Effort(deterministic_seconds=0))
