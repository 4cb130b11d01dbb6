"""What the loop needs of a solver, wherever its searches run."""

from typing import Protocol

from plimsoll_placement.effort import Effort
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Solution


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
