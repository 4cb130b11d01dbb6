"""Linear sums over variables of the model, with integer coefficients."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import gcd

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

Terms = Iterable[tuple[IntVar, int]]

LARGEST_COEFFICIENT = 1 << 24
"""Beyond this CP-SAT loses more speed than the model gains in precision."""


@dataclass(slots=True)
class Sum:
    """A sum under construction; terms with coefficient zero are left out."""

    variables: list[IntVar] = field(default_factory=list[IntVar])
    coefficients: list[int] = field(default_factory=list[int])

    def add(self, terms: Terms, factor: int = 1) -> "Sum":
        """Add terms, each times a factor."""
        for variable, coefficient in terms:
            if coefficient and factor:
                self.variables.append(variable)
                self.coefficients.append(coefficient * factor)
        return self

    @property
    def terms(self) -> list[tuple[IntVar, int]]:
        """The variables with their coefficients."""
        return list(zip(self.variables, self.coefficients, strict=True))

    @property
    def divisor(self) -> int:
        """The greatest common divisor of the coefficients; 1 for an empty sum."""
        return gcd(*self.coefficients) or 1

    def expression(self) -> LinearExpr:
        """The sum as a CP-SAT expression, divided by `divisor`."""
        divisor = self.divisor
        reduced = [coefficient // divisor for coefficient in self.coefficients]
        # OR-Tools' stubs leave the parameters of this function untyped.
        return LinearExpr.weighted_sum(self.variables, reduced)  # pyright: ignore[reportUnknownMemberType]

    def value(self, values: Sequence[int]) -> int:
        """Its value, given the values of all variables."""
        pairs = zip(self.variables, self.coefficients, strict=True)
        return sum(values[variable.index] * coefficient for variable, coefficient in pairs)

    def merged(self) -> "Sum":
        """The same sum with every variable only once."""
        found: dict[int, tuple[IntVar, int]] = {}
        for variable, coefficient in self.terms:
            _, before = found.get(variable.index, (variable, 0))
            found[variable.index] = (variable, before + coefficient)
        return Sum().add(found.values())

    def rounded_up(self, unit: int) -> "Sum":
        """The sum in a larger unit, each coefficient rounded up."""
        return Sum(self.variables, [-(-coefficient // unit) for coefficient in self.coefficients])

    def rounded_down(self, unit: int) -> "Sum":
        """The sum in a larger unit, each coefficient rounded down."""
        return Sum(self.variables, [coefficient // unit for coefficient in self.coefficients])


def at_most(model: CpModel, total: Sum, limit: int) -> None:
    """Require that a sum of non-negative terms is at most a limit.

    Very large coefficients are rounded down, which makes the constraint slightly weaker.
    """
    if not total.variables:
        return
    unit = max(map(abs, total.coefficients)) // total.divisor // LARGEST_COEFFICIENT
    if unit > 1:
        total, limit = total.rounded_down(unit * total.divisor), limit // (unit * total.divisor)
    model.add(total.expression() <= limit // total.divisor)


def at_least(model: CpModel, total: Sum, limit: int) -> None:
    """Require that a sum is at least a limit."""
    if total.variables:
        model.add(total.expression() >= -(-limit // total.divisor))
