"""Linear constraints without rounding: these require exactly what they say."""

from ortools.sat.python.cp_model import Constraint, CpModel, IntVar

from plimsoll_placement.cpsat.sums import Sum


def no_more_than(model: CpModel, total: Sum, limit: int) -> None:
    """Require that a sum is at most a limit."""
    if total.variables:
        model.add(total.expression() <= limit // total.divisor)


def covers(model: CpModel, larger: Sum, smaller: Sum) -> None:
    """Require that one sum is at least another."""
    no_more_than(model, Sum().add(smaller.terms).add(larger.terms, -1), 0)


def same(model: CpModel, one: Sum, other: Sum) -> None:
    """Require that two sums are equal."""
    difference = Sum().add(one.terms).add(other.terms, -1)
    if difference.variables:
        model.add(difference.expression() == 0)


def enforced(constraint: Constraint, literal: IntVar) -> None:
    """Have a constraint hold if a literal is 1."""
    # OR-Tools' stubs leave the parameters of this function untyped.
    constraint.only_enforce_if(literal)  # pyright: ignore[reportUnknownMemberType]
