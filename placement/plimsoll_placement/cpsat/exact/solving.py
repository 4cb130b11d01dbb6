"""The best placements of a scope: its levels maximised one after the other, each then held."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor

from ortools.sat.python.cp_model import FEASIBLE, OPTIMAL, CpModel, IntVar

from plimsoll_placement.cpsat.exact.budget import limit_losses
from plimsoll_placement.cpsat.exact.extract import assignments_of, hints
from plimsoll_placement.cpsat.exact.fitting import fit
from plimsoll_placement.cpsat.exact.gangs import add_gang
from plimsoll_placement.cpsat.exact.levels import Level, levels
from plimsoll_placement.cpsat.exact.linear import no_more_than
from plimsoll_placement.cpsat.exact.price import nothing_unpaid
from plimsoll_placement.cpsat.exact.scope import Remains, Scope
from plimsoll_placement.cpsat.exact.services import add_service
from plimsoll_placement.cpsat.exact.variables import Variables
from plimsoll_placement.cpsat.solver import level_solver
from plimsoll_placement.cpsat.sums import Sum
from plimsoll_placement.model import Assignments, JobName
from plimsoll_placement.solution import Score

SECONDS_PER_LEVEL = 0.01
VARIABLES_PER_SECOND = 30_000
"""What it takes to begin a level, added to CP-SAT's own deterministic time."""

ROUNDING = 1e-6
"""How far CP-SAT's bound of an integer objective may be off."""


@dataclass(frozen=True, slots=True)
class ExactResult:
    """The assignments of the jobs in a scope; None if none were found.

    `bound` holds for the first levels, each given that those before it are optimal; `is_proven` if
    the assignments are optimal in all. `seconds` is the deterministic time taken.
    """

    assignments: dict[JobName, Assignments] | None
    bound: tuple[int, ...]
    is_proven: bool
    seconds: float


def solved(scope: Scope, reached: Score, seconds: float) -> ExactResult:
    """The best that the jobs of a scope can have while all others stay, as far as time allows.

    `reached` is the score of the scope's placements.
    """
    variables = _variables(scope)
    goals = list(_goals(variables, reached))
    search = _Search(variables.model, list(hints(variables)), seconds)
    bound: list[int] = []
    for goal, start in goals:
        most = search.maximise(goal, start)
        if most is not None and goal.is_of_score:
            bound.append(most)
        if not search.is_proven:
            break
    assignments = None if search.values is None else assignments_of(variables, search.values)
    return ExactResult(assignments, tuple(bound), search.is_proven, search.spent)


def _goals(variables: Variables, reached: Score) -> Iterator[tuple[Level, int]]:
    """What is maximised one after the other, each with what the scope's placements have of it.

    As in the score, only what is guaranteed counts more than that nothing is left unpaid.
    """
    guaranteed, *others = zip(levels(variables), reached.levels, strict=True)
    yield guaranteed
    paid = nothing_unpaid(variables)
    if paid is not None:
        yield Level(Sum().add([(paid, 1)]), 0, 1, is_of_score=False), int(not reached.unpaid)
    yield from others


def _variables(scope: Scope) -> Variables:
    variables = Variables(CpModel(), Remains(scope))
    for job in scope.jobs:
        if job.gang:
            add_gang(variables, job)
        else:
            add_service(variables, job)
    fit(variables)
    limit_losses(variables)
    return variables


class _Search:
    """One model, maximised again and again within a total time."""

    def __init__(self, model: CpModel, start: Sequence[tuple[IntVar, int]], seconds: float) -> None:
        self.model = model
        self.start = start
        self.seconds = seconds
        self.spent = 0.0
        self.values: list[int] | None = None
        self.is_proven = True
        self.is_above_start = False
        # OR-Tools' stubs leave the contents of its protobufs untyped.
        self.size = len(model.proto.variables)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]

    def maximise(self, level: Level, start: int) -> int | None:
        """Maximise a level, hold the best value found from now on, and return a bound of it.

        What the start has of it, or what the levels before gave, may already be the maximum.
        """
        reached = start if not self.is_above_start else None
        if self.values is not None:
            reached = level.constant + level.total.value(self.values)
        if not level.total.variables or (reached is not None and reached == level.most):
            self._hold(level, level.constant if reached is None else reached)
            return level.constant if reached is None else reached
        return self._solved(level, start)

    def _solved(self, level: Level, start: int) -> int | None:
        self.is_proven = False
        self.spent += SECONDS_PER_LEVEL + self.size / VARIABLES_PER_SECOND
        if self.spent >= self.seconds:
            return None
        self.model.maximize(level.total.expression())
        self._hint()
        solver = level_solver(self.seconds - self.spent)
        solver.parameters.cut_level = 0  # most levels are proven without it
        status = solver.solve(self.model)
        self.spent += float(solver.response_proto.deterministic_time)
        if status not in (OPTIMAL, FEASIBLE):
            return None
        self.is_proven = status == OPTIMAL
        # OR-Tools' stubs leave the contents of its protobufs untyped.
        self.values = list(solver.response_proto.solution)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        reached = level.constant + level.total.value(self.values)
        self._hold(level, reached)
        self.is_above_start = self.is_above_start or reached > start
        return level.constant + floor(solver.best_objective_bound + ROUNDING) * level.total.divisor

    def _hold(self, level: Level, reached: int) -> None:
        no_more_than(self.model, Sum().add(level.total.terms, -1), level.constant - reached)

    def _hint(self) -> None:
        self.model.clear_hints()
        if self.values is None:
            for variable, value in self.start:
                self.model.add_hint(variable, value)
            return
        for index, value in enumerate(self.values):
            self.model.add_hint(self.model.get_int_var_from_proto_index(index), value)
