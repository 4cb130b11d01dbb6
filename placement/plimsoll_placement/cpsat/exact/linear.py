"""Linear constraints without rounding: what these demand is just what they say."""

from ortools.sat.python.cp_model import CpModel

from plimsoll_placement.cpsat.sums import Sum


def no_more_than(model: CpModel, total: Sum, limit: int) -> None:
    """Demand that a sum comes to no more than a limit."""
    if total.variables:
        model.add(total.expression() <= limit // total.divisor)


def covers(model: CpModel, larger: Sum, smaller: Sum) -> None:
    """Demand that one sum comes to no less than another."""
    no_more_than(model, Sum().add(smaller.terms).add(larger.terms, -1), 0)


def same(model: CpModel, one: Sum, other: Sum) -> None:
    """Demand that two sums come to the same."""
    difference = Sum().add(one.terms).add(other.terms, -1)
    if difference.variables:
        model.add(difference.expression() == 0)
