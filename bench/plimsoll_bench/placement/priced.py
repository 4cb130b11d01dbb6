"""What changes must gain, in the model of the best placements (see `score/price.py`).

Nothing may be left unpaid, at no priority: where a guarantee is worth more than that, the model has
no solution.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import gcd

from ortools.sat.python.cp_model import Constraint, CpModel, IntVar, LinearExpr, LiteralT

from plimsoll_bench.placement.chosen import Unit
from plimsoll_bench.placement.enumerated import Held
from plimsoll_placement.model import Job
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.price import gross_worth, lost_beyond, weighed_gain, weighed_loss
from plimsoll_placement.score.worth import WHOLE_PERCENT, served_milli, stop_loss

MOST = 1 << 42

Expression = LinearExpr | int


@dataclass(slots=True)
class _Changes:
    """What the jobs of a priority gain and lose against the baseline (as in `price.py`)."""

    gained: list[Expression] = field(default_factory=list[Expression])
    by_work: list[Expression] = field(default_factory=list[Expression])
    lost: list[Expression] = field(default_factory=list[Expression])
    counted: list[Expression] = field(default_factory=list[Expression])


class Price:
    """Gathers what each job gains and loses by each of its ways, and has the sums balanced."""

    def __init__(self, problem: Problem, model: CpModel) -> None:
        self._problem, self._model = problem, model
        self._weights = problem.priority_weight
        self._changes = {priority: _Changes() for priority in problem.priorities}

    def add_gang(self, job: Job, units: Sequence[Unit]) -> None:
        """Note what a gang gains and loses; at most one of its ways is taken."""
        problem, was = self._problem, (self._problem.baseline or {}).get(job.name, ())
        mine, before = self._changes[job.priority], served_milli(job, was)

        def gain(now: Held) -> int:
            return max(0, weighed_gain(problem, job, was, now))

        def gain_by_work(now: Held) -> int:
            return gain(now) if served_milli(job, now) > before else 0

        def loss(now: Held) -> int:
            return weighed_loss(problem, job, was, now)

        def counted(now: Held) -> int:
            return lost_beyond(job, was, now)

        sums: tuple[tuple[Callable[[Held], int], list[Expression]], ...] = (
            (gain, mine.gained),
            (gain_by_work, mine.by_work),
            (loss, mine.lost),
            (counted, mine.counted),
        )
        for of_way, added in sums:
            nothing = of_way(())
            added.append(nothing)
            added += [unit.count * (of_way(unit.way.held) - nothing) for unit in units]

    def add_service(
        self, job: Job, served: Expression, costs: Expression, stays: Expression
    ) -> None:
        """Note what a service gains and loses, which serves so much at such costs.

        `stays`: the work that the replicas which stay do not lose.
        """
        was, weight = (self._problem.baseline or {}).get(job.name, ()), self._weights[job.priority]
        mine, last = self._changes[job.priority], self._changes[min(self._changes)]
        worth_now = weight * self._problem.weights.horizon_seconds * served - costs
        gain = self._model.new_int_var(0, MOST, "")
        more = worth_now - gross_worth(self._problem, job, was, weight)
        # It may be less than that, which helps nobody.
        is_worth_more = self._model.new_bool_var("")
        _if_so(self._model.add(gain <= more), is_worth_more)
        self._model.add(gain <= MOST * is_worth_more)
        mine.gained.append(gain)
        does_more = self._model.new_bool_var("")
        by_work = self._model.new_int_var(0, MOST, "")
        before = served_milli(job, was)
        _if_so(self._model.add(served >= before + 1), does_more)
        self._model.add(by_work <= gain)
        self._model.add(by_work <= MOST * does_more)
        mine.by_work.append(by_work)
        last.lost.append(weight * (stop_loss(job, ()) - stop_loss(job, was) - stays))

    def balance(self) -> None:
        """From the highest priority down all that is lost is paid for."""
        gained: list[Expression] = [0]
        by_work: list[Expression] = [0]
        lost: list[Expression] = [0]
        counted: list[IntVar] = []
        for priority in sorted(self._changes, reverse=True):
            these = self._changes[priority]
            gained, lost = gained + these.gained, lost + these.lost
            self._pay(sum(gained), sum(lost))
            is_forgiven = self._model.new_bool_var("")
            _if_so(self._model.add(sum(by_work) >= 1), is_forgiven)
            self._pay(sum(by_work), sum(lost), is_forgiven)
            counts = self._model.new_int_var(0, MOST, "")
            self._model.add(counts + MOST * is_forgiven >= sum(these.counted))
            counted.append(counts)
            by_work = by_work + these.by_work
        if self._problem.loss_allowance is not None:
            self._model.add(sum(counted) <= self._problem.loss_allowance)

    def _pay(self, gained: Expression, lost: Expression, *if_so: IntVar) -> None:
        """Have a gain pay for a loss (see `price.shortfall`), if something is so."""
        weights = self._problem.weights
        price = weights.break_even_percent * weights.horizon_seconds
        scale = WHOLE_PERCENT * max(weights.gain_seconds, 1)
        price, scale = price // gcd(price, scale), scale // gcd(price, scale)
        if not price:
            return
        loses = self._model.new_bool_var("")
        _if_so(self._model.add(lost <= 0), *if_so, ~loses)
        _if_so(self._model.add(scale * gained >= price * lost + 1), *if_so, loses)


def _if_so(constraint: Constraint, *literals: LiteralT) -> None:
    """Have a constraint hold if all literals are 1."""
    # OR-Tools' stubs leave the parameters of this function untyped.
    constraint.only_enforce_if(*literals)  # pyright: ignore[reportUnknownMemberType]
