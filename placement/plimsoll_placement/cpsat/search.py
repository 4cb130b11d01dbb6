"""The search: one level of the score after the other, each held before the next is maximised.

A level whose known bound the best known values already attain costs nothing. Time is deterministic
and there is one worker, so that the same model gives the same result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

from ortools.sat.python.cp_model import FEASIBLE, OPTIMAL

from plimsoll_placement.cpsat.builder import ModelBuilder
from plimsoll_placement.cpsat.objective import Level
from plimsoll_placement.cpsat.solver import level_solver
from plimsoll_placement.cpsat.sums import at_least

UNBOUNDED = 1 << 62
"""A bound that says nothing."""

ROUNDING = 1e-6
"""How far CP-SAT's bound of an integer objective may be off."""

GAP = 0.001
"""A level this near to its best is near enough: nodes realise it less exactly anyway."""

LEAST_SECONDS = 0.02
"""With less time than this left, no further level is begun."""

SLOW_VARIABLES = 4000
"""Every this many variables more make a second of CP-SAT's own take a real second longer."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best values found, and a bound of each level given those before it.

    `reached` is the values' score by level, as far as the model can tell; `seconds` what the search
    took.
    """

    values: Sequence[int]
    reached: tuple[int, ...]
    bound: tuple[int, ...]
    seconds: float
    is_proven: bool


def climb_all(
    builder: ModelBuilder,
    levels: Sequence[Level],
    start: Sequence[int],
    bound: Sequence[int],
    seconds: float,
) -> Found:
    """Values at least as good as `start` in the levels' order, within deterministic seconds.

    `bound` holds for each level on its own; the one returned, for each level of placements that are
    optimal in all levels before it. No level takes more than half of the time left.
    """
    values, proven, reached, spent, is_proven = start, list(bound), list[int](), 0.0, True
    for place, level in enumerate(levels):
        if level.score(level.total.value(values)) < proven[place]:
            step = climb(builder, level, values, (seconds - spent) / 2)
            values, spent = step.values or values, spent + step.seconds
            proven[place] = min(proven[place], *step.bound)
            is_proven = is_proven and step.is_proven
        reached.append(min(level.score(level.total.value(values)), proven[place]))
        hold(builder, level, reached[-1])
    return Found(values, tuple(reached), tuple(proven), spent, is_proven)


def hold(builder: ModelBuilder, level: Level, score: int) -> None:
    """Require a score of a level from now on."""
    at_least(builder.model, level.total, level.least_value(score))


def climb(builder: ModelBuilder, level: Level, values: Sequence[int], seconds: float) -> Found:
    """Values of one level within `_gap` of the best, starting from given ones, as time allows.

    The given ones need not be feasible; then there may be no values at all.
    """
    reached = level.score(level.total.value(values))
    if not level.total.variables:
        return Found(values, (reached,), (reached,), 0.0, is_proven=True)
    if seconds < LEAST_SECONDS:
        return Found(values, (reached,), (UNBOUNDED,), 0.0, is_proven=False)
    builder.model.maximize(level.total.expression())
    _hint(builder, values)
    pace = 1 + len(values) / SLOW_VARIABLES
    solver = level_solver(seconds / pace)
    solver.parameters.relative_gap_limit = _gap(builder)
    status = solver.solve(builder.model)
    spent = float(solver.response_proto.deterministic_time) * pace
    if status not in (OPTIMAL, FEASIBLE):
        return Found((), (), (UNBOUNDED,), spent, is_proven=False)
    # OR-Tools' stubs leave the contents of its protobufs untyped.
    found: list[int] = list(solver.response_proto.solution)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    most = floor(solver.best_objective_bound + ROUNDING) * level.total.divisor
    reached = level.score(level.total.value(found))
    return Found(found, (reached,), (level.score(most),), spent, is_proven=status == OPTIMAL)


def _gap(builder: ModelBuilder) -> float:
    """How near to the best is near enough; services alone are realised as they are modelled."""
    return GAP if any(own.job_class.job.gang for own in builder.variables.job_classes) else 0.0


def _hint(builder: ModelBuilder, values: Sequence[int]) -> None:
    builder.model.clear_hints()
    for index, value in enumerate(values):
        builder.model.add_hint(builder.model.get_int_var_from_proto_index(index), value)
