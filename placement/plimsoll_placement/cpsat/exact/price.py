"""What changes must gain, as constraints: nothing is left unpaid (see `score/price.py`)."""

from math import gcd

from ortools.sat.python.cp_model import IntVar

from plimsoll_placement.cpsat.exact.balance import Balance, Total, balances
from plimsoll_placement.cpsat.exact.linear import enforced
from plimsoll_placement.cpsat.exact.variables import Variables
from plimsoll_placement.cpsat.sums import Sum
from plimsoll_placement.model import Weights
from plimsoll_placement.score.price import changes_of
from plimsoll_placement.score.worth import WHOLE_PERCENT

LARGEST = 1 << 61
"""CP-SAT refuses constraints whose sums might be larger."""


def nothing_unpaid(variables: Variables) -> IntVar | None:
    """A variable that may only be 1 if nothing is left unpaid.

    None if nothing ever is, or if the sums are too large for CP-SAT: then prices are left out.
    """
    weights = variables.remains.scope.problem.weights
    if not _may_leave_unpaid(variables):
        return None
    found = balances(variables)
    price, scale = _price(weights)
    sums = (each for balance in found.values() for each in (balance.gained, balance.lost))
    if sum(each.most(variables) for each in sums) * max(price, scale) >= LARGEST:
        return None
    payment = _Payment(variables, price, scale)
    payment.require(found)
    return payment.is_made


def _may_leave_unpaid(variables: Variables) -> bool:
    """Whether some placements of a scope's jobs throw away work, be it for enough or not."""
    scope = variables.remains.scope
    if scope.problem.baseline is None:
        return False
    if any(job.is_running and job.stop_seconds for job in scope.jobs):
        return True
    others = (job for job in scope.problem.jobs if job.name not in scope.names)
    found = changes_of(scope.problem, scope.outside, others).values()
    return any(each.lost > 0 or each.counted for each in found)


def _price(weights: Weights) -> tuple[int, int]:
    """What must be gained for a loss of so much, as `price.shortfall` has it."""
    price = weights.break_even_percent * weights.horizon_seconds
    scale = WHOLE_PERCENT * max(weights.gain_seconds, 1)
    common = gcd(price, scale)
    return price // common, scale // common


class _Payment:
    """Adds the constraints, which hold if `is_made` is 1."""

    def __init__(self, variables: Variables, price: int, scale: int) -> None:
        self._variables, self._price, self._scale = variables, price, scale
        self.is_made = variables.yes_or_no()

    def require(self, found: dict[int, Balance]) -> None:
        """Leave nothing unpaid at any priority."""
        allowance = self._variables.remains.scope.problem.loss_allowance
        gained, by_work, lost, counted = Total(), Total(), Total(), Total()
        for priority in sorted(found, reverse=True):
            these = found[priority]
            gained, lost = gained.plus(these.gained), lost.plus(these.lost)
            self._pay(gained, lost, self.is_made)
            if allowance is not None:
                counted = counted.plus(self._unforgiven(these.counted, by_work, lost))
            by_work = by_work.plus(these.by_work)
        if allowance is not None:
            self._require_if(self.is_made, counted, allowance)

    def _require_if(self, literal: IntVar, total: Total, limit: int) -> None:
        """Have a total be at most a limit, if something is so."""
        model = self._variables.model
        if total.sum.variables:
            enforced(model.add(total.expression() <= limit), literal)
        elif total.constant > limit:
            model.add(literal == 0)

    def _pay(self, gained: Total, lost: Total, if_so: IntVar) -> None:
        """Have a gain pay for a loss, if something is so."""
        if not self._price or not (lost.sum.variables or lost.constant > 0):
            return
        variables, model = self._variables, self._variables.model
        is_free = variables.yes_or_no()
        self._require_if(is_free, lost, 0)
        dear = Total(Sum().add(lost.sum.terms, self._price), lost.constant * self._price)
        dear.add(Sum().add(gained.sum.terms, -self._scale).terms, -gained.constant * self._scale)
        pays = variables.yes_or_no()
        self._require_if(pays, dear, -1)
        model.add_bool_or(is_free, pays, ~if_so)

    def _unforgiven(self, counted: Total, by_work: Total, lost: Total) -> Total:
        """What counts, unless more work of higher priorities pays for all that is lost."""
        if not (counted.sum.variables or counted.constant):
            return counted
        variables = self._variables
        is_forgiven = variables.yes_or_no()
        less = Total(Sum().add(by_work.sum.terms, -1), -by_work.constant)
        self._require_if(is_forgiven, less, -1)
        self._pay(by_work, lost, is_forgiven)
        counts = variables.up_to(counted.most(variables))
        over = Total(Sum().add(counted.sum.terms).add([(counts, -1)]), counted.constant)
        is_counted = variables.yes_or_no()
        self._require_if(is_counted, over, 0)
        variables.model.add_bool_or(is_forgiven, is_counted)
        return Total(Sum().add([(counts, 1)]))
