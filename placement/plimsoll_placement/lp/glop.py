"""The parts of OR-Tools' untyped GLOP wrapper that are used here, with types."""

from typing import Protocol, cast

from ortools.linear_solver import pywraplp  # pyright: ignore[reportMissingTypeStubs]

OPTIMAL = 0
"""What `Solve` returns when it finished."""


class Variable(Protocol):
    """A column."""

    def solution_value(self) -> float:
        """Its value, if nothing has changed since the program was solved."""
        ...

    def SetBounds(self, least: float, most: float, /) -> None:  # noqa: N802
        """Change its bounds."""
        ...


class Constraint(Protocol):
    """A row."""

    def SetCoefficient(self, column: Variable, factor: float, /) -> None:  # noqa: N802
        """Give a column a factor."""
        ...

    def SetLb(self, least: float, /) -> None:  # noqa: N802
        """Change its lower bound."""
        ...

    def SetBounds(self, least: float, most: float, /) -> None:  # noqa: N802
        """Change its bounds."""
        ...


class Objective(Protocol):
    """What is maximised."""

    def Clear(self) -> None:  # noqa: N802
        """Start anew."""
        ...

    def SetMaximization(self) -> None:  # noqa: N802
        """Maximise."""
        ...

    def SetCoefficient(self, column: Variable, factor: float, /) -> None:  # noqa: N802
        """Give a column a factor."""
        ...

    def Value(self) -> float:  # noqa: N802
        """The value reached."""
        ...


class How(Protocol):
    """Parameters of one solve."""

    INCREMENTALITY: int
    INCREMENTALITY_OFF: int

    def SetIntegerParam(self, name: int, value: int, /) -> None:  # noqa: N802
        """Set one of them."""
        ...


class Glop(Protocol):
    """The solver with its program."""

    def NumVar(self, least: float, most: float, name: str, /) -> Variable:  # noqa: N802
        """Add a column."""
        ...

    def Constraint(self, least: float, most: float, /) -> Constraint:  # noqa: N802
        """Add a row."""
        ...

    def Objective(self) -> Objective:  # noqa: N802
        """The objective."""
        ...

    def Solve(self, how: How = ..., /) -> int:  # noqa: N802
        """Solve it, by default from where the last solve ended; return the status."""
        ...

    def SetSolverSpecificParametersAsString(self, parameters: str, /) -> bool:  # noqa: N802
        """Set GLOP's own parameters, as a protobuf in text."""
        ...


def glop(parameters: str) -> Glop:
    """A new solver."""
    solver = cast("Glop", pywraplp.Solver.CreateSolver("GLOP"))  # pyright: ignore[reportUnknownMemberType]
    solver.SetSolverSpecificParametersAsString(parameters)
    return solver


def afresh() -> How:
    """Do not start from where the last solve ended."""
    how = cast("How", pywraplp.MPSolverParameters())
    how.SetIntegerParam(how.INCREMENTALITY, how.INCREMENTALITY_OFF)
    return how
