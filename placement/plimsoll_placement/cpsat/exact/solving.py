"""The best placements of a scope: its levels maximised one after the other, each then held."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

from ortools.sat.python.cp_model import FEASIBLE, OPTIMAL, CpModel, CpSolver, IntVar

from plimsoll_placement.cpsat.exact.fitting import fit
from plimsoll_placement.cpsat.exact.gangs import add_gang
from plimsoll_placement.cpsat.exact.levels import levels
from plimsoll_placement.cpsat.exact.linear import no_more_than
from plimsoll_placement.cpsat.exact.reading import hints, seats_of
from plimsoll_placement.cpsat.exact.scope import Remains, Scope, Seats
from plimsoll_placement.cpsat.exact.services import add_service
from plimsoll_placement.cpsat.exact.variables import Variables
from plimsoll_placement.cpsat.sums import Sum
from plimsoll_placement.problem import JobName

LEAST_SECONDS = 0.001
"""With less time than this left, no further level is begun."""

ROUNDING = 1e-6
"""By how much CP-SAT's bound of an integer objective may be off."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The seats of the jobs in a scope, None where none were found.

    `bound` holds for the first levels, each given that those before it are best; `is_proven` if
    the seats are best in all. `seconds` is deterministic time.
    """

    seats: dict[JobName, Seats] | None
    bound: tuple[int, ...]
    is_proven: bool
    seconds: float


def solved(scope: Scope, seconds: float) -> Answer:
    """The best that the jobs of a scope can have while all others stand, as far as time allows."""
    variables = _variables(scope)
    goals = levels(variables)
    search = _Search(variables.model, list(hints(variables)), seconds)
    bound: list[int] = []
    for goal in goals:
        most = search.maximise(goal.total)
        if most is not None:
            bound.append(most + goal.constant)
        if not search.is_proven:
            break
    seats = None if search.values is None else seats_of(variables, search.values)
    return Answer(seats, tuple(bound), search.is_proven, search.spent)


def _variables(scope: Scope) -> Variables:
    variables = Variables(CpModel(), Remains(scope))
    for job in scope.jobs:
        if job.gang:
            add_gang(variables, job)
        else:
            add_service(variables, job)
    fit(variables)
    return variables


class _Search:
    """One model, maximised again and again within a time for all."""

    def __init__(self, model: CpModel, start: Sequence[tuple[IntVar, int]], seconds: float) -> None:
        self.model = model
        self.start = start
        self.seconds = seconds
        self.spent = 0.0
        self.values: list[int] | None = None
        self.is_proven = True

    def maximise(self, total: Sum) -> int | None:
        """A bound of what a sum can come to; the most that was found is held from now on."""
        if not total.variables:
            return 0
        self.is_proven = False
        if self.seconds - self.spent < LEAST_SECONDS:
            return None
        self.model.maximize(total.expression())
        self._hint()
        solver = _solver(self.seconds - self.spent)
        status = solver.solve(self.model)
        self.spent += float(solver.response_proto.deterministic_time)
        if status not in (OPTIMAL, FEASIBLE):
            return None
        self.is_proven = status == OPTIMAL
        # OR-Tools' stubs leave what is inside its protobufs untyped.
        self.values = list(solver.response_proto.solution)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        no_more_than(self.model, Sum().add(total.terms, -1), -total.value(self.values))
        return floor(solver.best_objective_bound + ROUNDING) * total.divisor

    def _hint(self) -> None:
        self.model.clear_hints()
        if self.values is None:
            for variable, value in self.start:
                self.model.add_hint(variable, value)
            return
        for index, value in enumerate(self.values):
            self.model.add_hint(self.model.get_int_var_from_proto_index(index), value)


def _solver(seconds: float) -> CpSolver:
    solver = CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = seconds
    return solver
