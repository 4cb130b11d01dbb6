"""What the loop needs of a solver, wherever its searches run."""

from collections.abc import Generator
from typing import Protocol, TypeVar

from plimsoll_placement.effort import Effort
from plimsoll_placement.model import Placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Solution

Found = TypeVar("Found")


class Solver(Protocol):
    """Solves problems one at a time, and one more in the background."""

    def warm_up(self) -> None:
        """Load all code now, so that a standby need not when it takes over."""
        ...

    async def solve(self, problem: Problem, effort: Effort) -> Solution:
        """The best placements found; raises UnsoundPlanError if no sound ones are found."""
        ...

    async def search(self, problem: Problem, effort: Effort) -> Solution | None:
        """The same in the background; None if the search is abandoned."""
        ...

    async def estimate(self, problem: Problem) -> Solution | None:
        """Good placements at once, beside the plan, in the background; None if that fails."""
        ...


async def outcome(solver: Solver, search: Generator[Problem, Placements | None, Found]) -> Found:
    """What a search finds that yields problems and is sent estimates; None for what cannot be."""
    found: Placements | None = None
    while True:
        try:
            problem = search.send(found)
        except StopIteration as end:
            return end.value
        solution = await solver.estimate(problem)
        found = None if solution is None else solution.placements
