"""The parts of OR-Tools' untyped SCIP wrapper that are used here, with types."""

from dataclasses import dataclass
from typing import Protocol, cast

from ortools.linear_solver import pywraplp  # pyright: ignore[reportMissingTypeStubs]

OPTIMAL = 0
FEASIBLE = 1
"""What `Solve` returns with a proof, and with an answer that may not be the best."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long one search may take: nodes of its tree, and CPU seconds if limited."""

    nodes: int
    seconds: float | None = None

    def shared_by(self, searches: int) -> "Effort":
        """The share of each of several searches."""
        seconds = None if self.seconds is None else self.seconds / searches
        return Effort(max(1, self.nodes // searches), seconds)

    @property
    def parameters(self) -> str:
        """As SCIP takes them, with no gap accepted."""
        limits = f"limits/totalnodes = {self.nodes}\nlimits/gap = 0\nlimits/absgap = 0\n"
        if self.seconds is None:
            return limits
        # Clock 1 counts CPU time, so that other load on the machine takes nothing away.
        return f"{limits}timing/clocktype = 1\nlimits/time = {max(self.seconds, 0.01)}\n"


class Variable(Protocol):
    """A column."""

    def solution_value(self) -> float:
        """Its value in the best answer."""
        ...


class Row(Protocol):
    """A constraint."""

    def SetCoefficient(self, column: Variable, factor: float, /) -> None:  # noqa: N802
        """Give a column a factor."""
        ...


class Goal(Protocol):
    """What is minimised."""

    def SetMinimization(self) -> None:  # noqa: N802
        """Minimise."""
        ...

    def SetCoefficient(self, column: Variable, factor: float, /) -> None:  # noqa: N802
        """Give a column a factor."""
        ...

    def Value(self) -> float:  # noqa: N802
        """The value reached."""
        ...

    def BestBound(self) -> float:  # noqa: N802
        """The lower bound."""
        ...


class Scip(Protocol):
    """The solver with its program."""

    def NumVar(self, least: float, most: float, name: str, /) -> Variable:  # noqa: N802
        """Add a continuous column."""
        ...

    def IntVar(self, least: float, most: float, name: str, /) -> Variable:  # noqa: N802
        """Add an integer column."""
        ...

    def Constraint(self, least: float, most: float, /) -> Row:  # noqa: N802
        """Add a row."""
        ...

    def Objective(self) -> Goal:  # noqa: N802
        """The objective."""
        ...

    def SetHint(self, columns: list[Variable], values: list[float], /) -> None:  # noqa: N802
        """Set the starting point."""
        ...

    def Solve(self) -> int:  # noqa: N802
        """Search; return the status."""
        ...

    def wall_time(self) -> int:
        """Milliseconds since it was made."""
        ...

    def SetSolverSpecificParametersAsString(self, parameters: str, /) -> bool:  # noqa: N802
        """Set SCIP's own parameters, one to a line."""
        ...


def scip(effort: Effort) -> Scip:
    """A new solver."""
    solver = cast("Scip", pywraplp.Solver.CreateSolver("SCIP"))  # pyright: ignore[reportUnknownMemberType]
    solver.SetSolverSpecificParametersAsString(effort.parameters)
    return solver
