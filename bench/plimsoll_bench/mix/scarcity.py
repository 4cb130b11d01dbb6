"""What one more GPU of each pool would save, by the linear relaxation of a mix."""

from typing import Protocol, cast

from ortools.linear_solver import pywraplp  # pyright: ignore[reportMissingTypeStubs]

from plimsoll_placement.estimate.mix.problem import MixProblem, PoolName

INFINITY = float("inf")


class _Column(Protocol):
    """A variable; it needs no methods."""


class _Row(Protocol):
    """A constraint."""

    def SetCoefficient(self, column: _Column, factor: float, /) -> None:  # noqa: N802
        """Give a column a factor."""
        ...

    def dual_value(self) -> float:
        """The dual value of its bound."""
        ...


class _Goal(Protocol):
    """What is minimised."""

    def SetMinimization(self) -> None:  # noqa: N802
        """Minimise."""
        ...

    def SetCoefficient(self, column: _Column, factor: float, /) -> None:  # noqa: N802
        """Give a column a factor."""
        ...


class _Program(Protocol):
    """The solver with its program."""

    def NumVar(self, least: float, most: float, name: str, /) -> _Column:  # noqa: N802
        """Add a column."""
        ...

    def Constraint(self, least: float, most: float, /) -> _Row:  # noqa: N802
        """Add a row."""
        ...

    def Objective(self) -> _Goal:  # noqa: N802
        """The objective."""
        ...

    def Solve(self) -> int:  # noqa: N802
        """Solve it; return the status."""
        ...


def scarcity_in(problem: MixProblem) -> dict[PoolName, int]:
    """The saving in micro-dollars; models have one bucket each. Empty if there is no solution."""
    solver = cast("_Program", pywraplp.Solver.CreateSolver("GLOP"))  # pyright: ignore[reportUnknownMemberType]
    supplied = {pool: solver.Constraint(-INFINITY, gpus) for pool, gpus in problem.supply.items()}
    goal = solver.Objective()
    goal.SetMinimization()
    for model in problem.models:
        covered = solver.Constraint(model.loads[0], INFINITY)
        for option in model.options:
            column = solver.NumVar(0, INFINITY, "")
            covered.SetCoefficient(column, option.carries[0])
            goal.SetCoefficient(column, option.microdollars)
            if option.pool in supplied:
                supplied[option.pool].SetCoefficient(column, option.gpus)
    if solver.Solve():
        return {}
    return {pool: max(0, round(-row.dual_value())) for pool, row in supplied.items()}
