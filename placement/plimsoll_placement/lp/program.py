"""A linear program: columns and rows, maximised by GLOP for one objective after the other."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from plimsoll_placement.lp.glop import OPTIMAL, Constraint, afresh, glop

Column = int
Row = int
Terms = Sequence[tuple[Column, float]]

INFINITY = float("inf")

PARAMETERS = "use_preprocessing: false max_deterministic_time: {seconds}"
"""Without preprocessing the next objective starts from the last one's basis."""


class Program:
    """Columns from 0 to a bound each, and rows with an upper limit."""

    def __init__(self) -> None:
        self.most: list[float] = []
        self.rows: list[tuple[dict[Column, float], float]] = []

    def column(self, most: float = INFINITY) -> Column:
        """A new column."""
        self.most.append(most)
        return len(self.most) - 1

    def at_most(self, terms: Iterable[tuple[Column, float]], limit: float) -> Row | None:
        """Add a row; None, and no row, if no values of its columns could violate it."""
        row = merged(terms)
        if sum(self.most[column] * factor for column, factor in row.items() if factor > 0) > limit:
            self.rows.append((row, limit))
            return len(self.rows) - 1
        return None


def merged(terms: Iterable[tuple[Column, float]]) -> dict[Column, float]:
    """One factor for each column."""
    row: dict[Column, float] = defaultdict(float)
    for column, factor in terms:
        row[column] += factor
    return row


class Climber:
    """Solves a program again and again; what an objective reached is then held."""

    def __init__(
        self, program: Program, objectives: Sequence[Terms], deterministic_seconds: float
    ) -> None:
        self._solver = glop(PARAMETERS.format(seconds=deterministic_seconds))
        self._columns = [self._solver.NumVar(0, most, "") for most in program.most]
        self._program = program
        self._rows = [self._row(-INFINITY, limit, row) for row, limit in program.rows]
        self._narrow_columns = set[Column]()
        self._narrow_rows = set[Row]()
        self._objectives = [merged(terms) for terms in objectives]
        self._holds = [self._row(-INFINITY, INFINITY, terms) for terms in self._objectives]

    def climb(self, place: int) -> float | None:
        """The maximum of an objective; None if it was not found."""
        objective = self._solver.Objective()
        objective.Clear()
        objective.SetMaximization()
        for column, factor in self._objectives[place].items():
            objective.SetCoefficient(self._columns[column], factor)
        if self._solver.Solve() != OPTIMAL and not self._solves_afresh():
            return None
        return objective.Value()

    def _solves_afresh(self) -> bool:
        """Solve without the last basis, from which rounding errors can lead nowhere."""
        self._solver.SetSolverSpecificParametersAsString("use_preprocessing: true")
        status = self._solver.Solve(afresh())
        self._solver.SetSolverSpecificParametersAsString("use_preprocessing: false")
        return status == OPTIMAL

    def values(self) -> list[float]:
        """The columns as the last climb left them; valid only until a row changes."""
        return [column.solution_value() for column in self._columns]

    def nothing(self) -> list[float]:
        """The columns all at zero, which no row forbids."""
        return [0.0] * len(self._columns)

    def hold(self, place: int, least: float) -> None:
        """Require this much of an objective from now on; minus infinity: nothing."""
        self._holds[place].SetLb(least)

    def narrow_column(self, column: Column, least: float, most: float) -> None:
        """Keep a column within narrower bounds until all are widened again."""
        self._columns[column].SetBounds(least, most)
        self._narrow_columns.add(column)

    def narrow_row(self, row: Row, least: float, most: float) -> None:
        """The same for a row."""
        self._rows[row].SetBounds(least, most)
        self._narrow_rows.add(row)

    def widen(self) -> None:
        """Give all columns and rows the bounds that the program has."""
        for column in self._narrow_columns:
            self._columns[column].SetBounds(0, self._program.most[column])
        for row in self._narrow_rows:
            self._rows[row].SetBounds(-INFINITY, self._program.rows[row][1])
        self._narrow_columns.clear()
        self._narrow_rows.clear()

    def _row(self, least: float, most: float, terms: dict[Column, float]) -> Constraint:
        row = self._solver.Constraint(least, most)
        for column, factor in terms.items():
            row.SetCoefficient(self._columns[column], factor)
        return row
