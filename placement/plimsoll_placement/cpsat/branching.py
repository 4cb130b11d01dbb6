"""One level of a model solved by SCIP, as an integer program.

CP-SAT finds it hard to cover many loads with just enough GPUs of several types, where a linear
relaxation nearly says the answer and branching on it does the rest. It is limited by nodes, not by
the clock, so that the same model gives the same values.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Protocol, cast

from ortools.linear_solver import pywraplp  # pyright: ignore[reportMissingTypeStubs]

from plimsoll_placement.cpsat.builder import ModelBuilder
from plimsoll_placement.cpsat.objective import Level

FEASIBLE = (0, 1)
"""What `Solve` returns with values: proven the best, or not."""
NODES_PER_SECOND = 2000
"""The pace of its search, in deterministic seconds."""
MOST_VARIABLES = 2000
"""Larger models are not even begun."""
UNLIMITED = 1 << 60
"""A bound beyond this limits nothing."""


class _Bounded(Protocol):
    """What has values from one to another, with those between them or without."""

    domain: Iterable[int]


class _Linear(_Bounded, Protocol):
    """A linear constraint of CP-SAT's model, whose stubs leave its contents untyped."""

    vars: Iterable[int]
    coeffs: Iterable[int]


class _Constraint(Protocol):
    """A constraint of a model that has linear ones alone."""

    linear: _Linear


class _Column(Protocol):
    """A variable."""

    def solution_value(self) -> float:
        """Its value in the best answer."""
        ...


class _Row(Protocol):
    """A constraint."""

    def SetCoefficient(self, column: _Column, factor: float, /) -> None:  # noqa: N802
        """Give a column a factor."""
        ...


class _Goal(Protocol):
    """What is maximised."""

    def SetMaximization(self) -> None:  # noqa: N802
        """Maximise."""
        ...

    def SetCoefficient(self, column: _Column, factor: float, /) -> None:  # noqa: N802
        """Give a column a factor."""
        ...


class _Scip(Protocol):
    """The solver with its program."""

    def IntVar(self, least: float, most: float, name: str, /) -> _Column:  # noqa: N802
        """Add an integer column."""
        ...

    def Constraint(self, least: float, most: float, /) -> _Row:  # noqa: N802
        """Add a row."""
        ...

    def Objective(self) -> _Goal:  # noqa: N802
        """The objective."""
        ...

    def Solve(self) -> int:  # noqa: N802
        """Search; return the status."""
        ...

    def nodes(self) -> int:
        """How many nodes the search took."""
        ...

    def SetSolverSpecificParametersAsString(self, parameters: str, /) -> bool:  # noqa: N802
        """Set SCIP's own parameters, one to a line."""
        ...


def branched(builder: ModelBuilder, level: Level, seconds: float) -> tuple[Sequence[int], float]:
    """The best values found of a level, empty if none were, and the deterministic seconds taken."""
    nodes = int(seconds * NODES_PER_SECOND)
    if nodes <= 0 or builder.variables.count > MOST_VARIABLES:
        return (), 0.0
    solver = cast("_Scip", pywraplp.Solver.CreateSolver("SCIP"))  # pyright: ignore[reportUnknownMemberType]
    solver.SetSolverSpecificParametersAsString(f"limits/totalnodes = {nodes}\nlimits/gap = 0\n")
    columns = _columns(builder, solver)
    _add_rows(builder, solver, columns)
    goal = solver.Objective()
    goal.SetMaximization()
    for variable, factor in level.total.terms:
        goal.SetCoefficient(columns[variable.index], factor)
    found = solver.Solve() in FEASIBLE
    values = [round(column.solution_value()) for column in columns] if found else ()
    return values, solver.nodes() / NODES_PER_SECOND


def _columns(builder: ModelBuilder, solver: _Scip) -> list[_Column]:
    variables = cast("Iterable[_Bounded]", builder.model.proto.variables)  # pyright: ignore[reportUnknownMemberType]
    bounds = [tuple(each.domain) for each in variables]
    return [solver.IntVar(least, most, "") for least, *_, most in bounds]


def _add_rows(builder: ModelBuilder, solver: _Scip, columns: Sequence[_Column]) -> None:
    constraints = cast("Iterable[_Constraint]", builder.model.proto.constraints)  # pyright: ignore[reportUnknownMemberType]
    for linear in (each.linear for each in constraints):
        least, *_, most = linear.domain
        row = solver.Constraint(_limited(least), _limited(most))
        for index, factor in zip(linear.vars, linear.coeffs, strict=True):
            row.SetCoefficient(columns[index], factor)


def _limited(bound: int) -> float:
    """A bound of a row; those near the largest integers limit nothing."""
    return float(bound) if abs(bound) < UNLIMITED else math.copysign(math.inf, bound)
