"""The proven best of all placements of a small problem, independent of the solver's models.

What each way to place a job is worth comes from `score.py`. CP-SAT chooses among the ways without a
limit, one level of the score after the other; the result is verified and scored anew.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ortools.sat.python.cp_model import INFEASIBLE, OPTIMAL, CpSolver, Domain, IntVar

from plimsoll_bench.placement.chosen import Choice, Terms, Unit, total
from plimsoll_bench.placement.enumerated import Held
from plimsoll_bench.placement.priced import Price
from plimsoll_placement.check import require_sound
from plimsoll_placement.model import Assignment, Job, JobName, Role
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import least_use, score
from plimsoll_placement.score.worth import (
    held_milli,
    kept_and_admitted,
    pod_price,
    served_milli,
    stop_loss,
    worth,
)

PLAIN_MILLI = 1000
WHOLE_PERCENT = 100
PLENTY = 1 << 40


class UnprovenError(Exception):
    """CP-SAT gave no proof, or its placements are not worth what the model says."""


class UnpaidError(Exception):
    """To give queues what they are guaranteed takes changes that gain too little."""


@dataclass(slots=True)
class _Level:
    """A level of the score."""

    terms: Terms = field(default_factory=list[tuple[IntVar, int]])
    constant: int = 0


def best_placements(problem: Problem, most_ways: int) -> dict[JobName, Held]:
    """Sound placements with the best score of all.

    Raises UnpaidError if the best leaves something unpaid (see `score/price.py`).
    """
    return _Best(problem, most_ways).placements()


class _Best:
    """A choice among ways, with the levels of the score."""

    def __init__(self, problem: Problem, most_ways: int) -> None:
        self.problem = problem
        self.choice = Choice(problem, most_ways)
        self.model = self.choice.model
        self.weights = problem.priority_weight
        self.order = problem.priorities
        self.levels = [_Level() for _ in range(2 + 2 * len(self.order))]
        self.price = Price(problem, self.model)
        for job in problem.jobs:
            if job.pinned:
                self._count(job, job.running)
            elif job.gang:
                self._add_gang(job, self.choice.units_of(job.name))
            else:
                self._add_service(job, self.choice.units_of(job.name))
        self._add_guarantees()
        for priority in self.order:
            self._take_off_unfairness(priority)

    def placements(self) -> dict[JobName, Held]:
        """The best of all, verified."""
        values, claimed = list[int](), list[int]()
        for level in self.levels:
            self.model.maximize(total(level.terms, level.constant))
            solver = CpSolver()
            solver.parameters.num_workers = 1
            solver.parameters.linearization_level = 2
            # The presolve of OR-Tools 9.15 loses solutions by either.
            solver.parameters.presolve_inclusion_work_limit = 0
            solver.parameters.keep_all_feasible_solutions_in_presolve = True
            status = solver.solve(self.model)
            if status == INFEASIBLE and level is self.levels[1]:
                raise UnpaidError
            if status != OPTIMAL:
                raise UnprovenError
            claimed.append(round(solver.objective_value))
            self.model.add(total(level.terms, level.constant) >= claimed[-1])
            if level is self.levels[0] and self.problem.baseline is not None:
                self.price.balance()
            values = [solver.value(unit.count) for unit in self.choice.units]
        found = self._read(values)
        require_sound(self.problem, found)
        reached = score(self.problem, found)
        if reached.unpaid or list(reached.levels) != claimed:
            raise UnprovenError
        return found

    def _levels_of(self, job: Job) -> tuple[_Level, _Level, _Level]:
        """What is kept and admitted of the job's priority, and worth."""
        place = 1 + 2 * self.order.index(job.priority)
        return self.levels[place], self.levels[place + 1], self.levels[-1]

    def _count(self, job: Job, held: Held) -> None:
        """Count what is not to be decided."""
        kept, admitted, worths = self._levels_of(job)
        keeps, admits = kept_and_admitted(job, held)
        kept.constant += keeps
        admitted.constant += admits
        worths.constant += worth(self.problem, job, held, self.weights[job.priority])

    def _add_gang(self, job: Job, units: list[Unit]) -> None:
        self._count(job, ())
        self.model.add_at_most_one(unit.count for unit in units)
        kept, admitted, worths = self._levels_of(job)
        weight = self.weights[job.priority]
        waiting = worth(self.problem, job, (), weight)
        for unit in units:
            keeps, admits = kept_and_admitted(job, unit.way.held)
            kept.terms.append((unit.count, keeps))
            admitted.terms.append((unit.count, admits))
            value = worth(self.problem, job, unit.way.held, weight) - waiting
            worths.terms.append((unit.count, value))
        self.price.add_gang(job, units)

    def _add_service(self, job: Job, units: list[Unit]) -> None:
        kept, admitted, worths = self._levels_of(job)
        worths.constant -= stop_loss(job, ())
        runs = self.model.new_bool_var("")
        served = [self._served(role, units, runs) for role in job.roles]
        self._share_spot(job, units)
        before = served_milli(job, job.running)
        keeps = self.model.new_int_var(0, PLENTY, "")
        self.model.add_min_equality(keeps, [sum(served), before])
        kept.terms.append((keeps, 1))
        admits = self.model.new_int_var(0, PLENTY, "")
        new = total([*((each, job.urgency_milli) for each in served), (keeps, -job.urgency_milli)])
        self.model.add(PLAIN_MILLI * admits <= new)
        admitted.terms.append((admits, 1))
        second = self.weights[job.priority] * self.problem.weights.horizon_seconds
        worths.terms += [(each, second) for each in served]
        stays = [(unit.count, self._saved(unit)) for unit in units]
        costs = [(unit.count, self._price(unit)) for unit in units]
        worths.terms += [*stays, *((count, -cost) for count, cost in costs)]
        self.price.add_service(job, sum(served), total(costs), total(stays))

    def _served(self, role: Role, units: Iterable[Unit], runs: IntVar) -> IntVar:
        """What a role serves; it has none or an allowed number of replicas."""
        mine = [unit for unit in units if unit.way.held[0].role == role.name]
        count = self.model.new_int_var_from_domain(Domain.from_values([0, *role.counts]), "")
        self.model.add(total([(unit.count, 1) for unit in mine]) == count)
        self.model.add(count >= role.least * runs)
        self.model.add(count <= role.counts[-1] * runs)
        carried = [(unit.count, role.yields[unit.way.held[0].gpu_type][0]) for unit in mine]
        served = self.model.new_int_var(0, role.wanted_milli, "")
        self.model.add(role.fineness * served <= total(carried))
        self.model.add(role.wanted_count * served <= role.wanted_milli * count)
        return served

    def _share_spot(self, job: Job, units: Iterable[Unit]) -> None:
        spot = {node.name for node in self.problem.nodes if node.spot}
        terms = [
            (unit.count, WHOLE_PERCENT * (not spot.isdisjoint(unit.way.held[0].nodes)))
            for unit in units
        ]
        self.model.add(total([(count, part - job.spot_percent) for count, part in terms]) <= 0)

    def _saved(self, unit: Unit) -> int:
        """The work that a replica which stays does not lose."""
        job, held = unit.way.job, unit.way.held
        return 0 if unit.way.is_new else job.stop_seconds * held_milli(job, held)

    def _price(self, unit: Unit) -> int:
        job, assignment = unit.way.job, unit.way.held[0]
        nodes, role = {node.name: node for node in self.problem.nodes}, job.role(assignment.role)
        return sum(pod_price(self.problem, job, role, nodes[name]) for name in assignment.nodes)

    def _use(
        self, floor: int | None
    ) -> tuple[dict[tuple[str, str], Terms], dict[tuple[str, str], int]]:
        """What queues hold at the least size, by the units and by what is pinned."""
        terms: dict[tuple[str, str], Terms] = {}
        for unit in self.choice.units:
            use = least_use(self.problem, {unit.way.job.name: unit.way.held}, floor)
            for key, milli in use.items():
                terms.setdefault(key, []).append((unit.count, milli))
        fixed = least_use(self.problem, self.choice.pinned, floor)
        return terms, {(queue, kind): milli for (queue, kind), milli in fixed.items()}

    def _add_guarantees(self) -> None:
        terms, fixed = self._use(None)
        for (queue, kind), milli in self.problem.entitlements.items():
            claimed = self.model.new_int_var(0, milli, "")
            used = total(terms.get((queue, kind), []), fixed.get((queue, kind), 0))
            self.model.add(claimed <= used)
            self.levels[0].terms.append((claimed, 1))

    def _take_off_unfairness(self, priority: int) -> None:
        """Half of what queues hold beyond their fair shares, rounded down."""
        terms, fixed = self._use(priority)
        beyond: Terms = []
        for queue in self.problem.queues:
            for gpu_type, milli in queue.fair.items():
                key = (queue.name, gpu_type)
                excess = self.model.new_int_var(0, PLENTY, "")
                self.model.add(excess >= total(terms.get(key, []), fixed.get(key, 0) - milli))
                beyond.append((excess, 1))
        half = self.model.new_int_var(0, PLENTY, "")
        self.model.add(2 * half + 1 >= total(beyond))
        self.levels[2 + 2 * self.order.index(priority)].terms.append((half, -1))

    def _read(self, values: list[int]) -> dict[JobName, Held]:
        """The ways that were taken, with new replicas numbered beyond all others."""
        found: dict[JobName, Held] = dict(self.choice.pinned)
        for unit, count in zip(self.choice.units, values, strict=True):
            job, held = unit.way.job, unit.way.held
            before = found.get(job.name, ())
            if unit.way.is_new:
                first = 1 + max((a.replica for a in (*before, *job.running)), default=0)
                held = tuple(
                    Assignment(held[0].role, first + n, held[0].gpu_type, held[0].nodes)
                    for n in range(count)
                )
            if count:
                found[job.name] = (*before, *held)
        return found
