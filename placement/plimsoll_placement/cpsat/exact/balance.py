"""What the jobs of a scope gain and lose against the baseline, as sums of the model's variables.

They equal what `score/price.py` says of the placements that the variables stand for.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from ortools.sat.python.cp_model import IntVar, LinearExprT

from plimsoll_placement.cpsat.exact.levels import costs, size_worth, stay_cost
from plimsoll_placement.cpsat.exact.linear import enforced
from plimsoll_placement.cpsat.exact.variables import Batch, Kept, Service, Variables
from plimsoll_placement.cpsat.sums import Sum, Terms
from plimsoll_placement.model import Job, JobName
from plimsoll_placement.score.price import changes_of, gross_worth, lost_beyond, weighed_loss
from plimsoll_placement.score.worth import held_milli, served_milli


@dataclass(slots=True)
class Total:
    """A sum of variables and a constant."""

    sum: Sum = field(default_factory=Sum)
    constant: int = 0

    def add(self, terms: Terms, constant: int = 0) -> None:
        """Add terms and a constant."""
        self.sum.add(terms)
        self.constant += constant

    def plus(self, other: "Total") -> "Total":
        """The sum of both."""
        terms = Sum().add(self.sum.terms).add(other.sum.terms)
        return Total(terms.merged(), self.constant + other.constant)

    def expression(self) -> LinearExprT:
        """The total as a CP-SAT expression."""
        return self.sum.expression() * self.sum.divisor + self.constant

    def most(self, variables: Variables) -> int:
        """More than its absolute value can be."""
        pairs = zip(self.sum.variables, self.sum.coefficients, strict=True)
        return abs(self.constant) + sum(abs(c) * variables.most(v) for v, c in pairs)


@dataclass(slots=True)
class Balance:
    """What the jobs of a priority gain and lose, as in `price.Changes`."""

    gained: Total = field(default_factory=Total)
    by_work: Total = field(default_factory=Total)
    lost: Total = field(default_factory=Total)
    counted: Total = field(default_factory=Total)


def balances(variables: Variables) -> dict[int, Balance]:
    """The balance of each priority, with what the jobs outside the scope gain and lose."""
    return _Balances(variables).by_priority


class _Balances:
    """Adds what is gained and lost, job by job."""

    def __init__(self, variables: Variables) -> None:
        self._variables = variables
        scope = variables.remains.scope
        self._problem, self._baseline = scope.problem, scope.problem.baseline or {}
        self.by_priority = {priority: Balance() for priority in scope.problem.priorities}
        self._add_others()
        kept, batches = (
            defaultdict[JobName, list[Kept]](list),
            defaultdict[JobName, list[Batch]](list),
        )
        for each in variables.kept:
            kept[each.job.name].append(each)
        for batch in variables.batches:
            batches[batch.job.name].append(batch)
        services = {service.job.name: service for service in variables.services}
        for job in scope.jobs:
            if job.gang:
                self._add_gang(job, kept[job.name], batches[job.name])
            else:
                self._add_service(services[job.name], kept[job.name], batches[job.name])

    def _add_others(self) -> None:
        scope = self._variables.remains.scope
        others = (job for job in scope.problem.jobs if job.name not in scope.names)
        for priority, changes in changes_of(scope.problem, scope.outside, others).items():
            balance = self.by_priority[priority]
            balance.gained.constant += changes.gained
            balance.by_work.constant += changes.by_work
            balance.lost.constant += changes.lost
            balance.counted.constant += changes.counted

    def _add_gang(self, job: Job, kept: Sequence[Kept], batches: Sequence[Batch]) -> None:
        problem, was = self._problem, self._baseline.get(job.name, ())
        weight, balance = problem.priority_weight[job.priority], self.by_priority[job.priority]
        worths, before, does_more = Total(), served_milli(job, was), list[IntVar]()
        for each in kept:
            worths.add([(each.stays, gross_worth(problem, job, each.assignments, weight))])
            if served_milli(job, each.assignments) > before:
                does_more.append(each.stays)
        for batch in batches:
            worths.sum.add(costs(problem, batch), -1)
            leads = batch.role.name == job.roles[0].name
            for size in batch.sizes:
                worths.add([(size.chosen, size_worth(problem, batch, size, weight))])
                if leads and batch.role.yields[batch.gpu_type][size.place] > before:
                    does_more.append(size.chosen)
        self._add_gain(balance, worths, gross_worth(problem, job, was, weight), does_more)
        if job.is_running:
            self._add_gang_losses(job, kept, batches)

    def _add_gang_losses(self, job: Job, kept: Sequence[Kept], batches: Sequence[Batch]) -> None:
        """What is lost unless it stays; the budget does not count it if it is resized."""
        problem, was = self._problem, self._baseline.get(job.name, ())
        balance = self.by_priority[job.priority]
        lost, counted = weighed_loss(problem, job, was, ()), lost_beyond(job, was, ())
        balance.lost.add((), lost)
        balance.counted.add((), counted)
        for each in kept:
            stays = each.assignments
            balance.lost.add([(each.stays, weighed_loss(problem, job, was, stays) - lost)])
            balance.counted.add([(each.stays, lost_beyond(job, was, stays) - counted)])
        for batch in (batch for batch in batches if batch.role.name == job.roles[0].name):
            others = (size for size in batch.sizes if size.replicas != job.size(job.running))
            balance.counted.add((size.chosen, -counted) for size in others)

    def _add_service(
        self, service: Service, kept: Sequence[Kept], batches: Sequence[Batch]
    ) -> None:
        job, problem, was = service.job, self._problem, self._baseline.get(service.job.name, ())
        weight = problem.priority_weight[job.priority]
        worths, does_more = Total(), self._variables.yes_or_no()
        worths.add((each, weight * problem.weights.horizon_seconds) for each in service.served)
        for batch in batches:
            worths.sum.add(costs(problem, batch), -1)
        lowest = self.by_priority[min(self.by_priority)]
        lowest.lost.add((), weighed_loss(problem, job, was, ()))
        for each in kept:
            worths.add([(each.stays, -stay_cost(problem, each))])
            saved = job.stop_seconds * held_milli(job, each.assignments)
            lowest.lost.add([(each.stays, -weight * saved)])
        serves_more = sum(service.served) >= served_milli(job, was) + 1
        enforced(self._variables.model.add(serves_more), does_more)
        balance = self.by_priority[job.priority]
        self._add_gain(balance, worths, gross_worth(problem, job, was, weight), [does_more])

    def _add_gain(
        self, balance: Balance, worths: Total, before: int, does_more: Sequence[IntVar]
    ) -> None:
        """Add what a job is worth more than before, if it is; `by_work` if it does more.

        It is only bounded from above: to gain more harms nothing. CP-SAT's maximum of expressions
        would be exact, but takes seconds to presolve.
        """
        variables, model = self._variables, self._variables.model
        worths.add((), -before)
        most = worths.most(variables)
        gain, by_work = variables.up_to(most), variables.up_to(most)
        is_worth_more = variables.yes_or_no()
        enforced(model.add(gain <= worths.expression()), is_worth_more)
        model.add(gain <= most * is_worth_more)
        model.add(by_work <= gain)
        model.add(by_work <= most * sum(does_more))
        balance.gained.add([(gain, 1)])
        balance.by_work.add([(by_work, 1)])
