"""What a search process does: it keeps the last problem that it was sent, and is sent changes.

So it also keeps what the solver derived from it.
"""

from plimsoll.control.solving.problem_update import ProblemUpdate
from plimsoll_placement.effort import Effort
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Solution
from plimsoll_placement.solve import Solver


class _Process:
    """What this process knows."""

    number = -1
    problem: Problem | None = None
    solver = Solver()


def solved(update: ProblemUpdate, effort: Effort) -> Solution | None:
    """The solution of the updated problem; None if this process does not know what it updates."""
    is_whole = update.base == update.number
    if not is_whole and (_Process.problem is None or _Process.number != update.base):
        return None
    problem = update.applied(None if is_whole else _Process.problem)
    _Process.number, _Process.problem = update.number, problem
    return _Process.solver.solve_lean(problem, effort)
