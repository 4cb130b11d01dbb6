"""The search: one level of the score after the other, each held before the next is looked at.

A level that the best known values attain already, by a bound that is known, costs nothing. The
time is deterministic and there is one worker, so that the same model gives the same answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

from ortools.sat.python.cp_model import FEASIBLE, OPTIMAL, CpSolver

from plimsoll_placement.cpsat.draft import Draft
from plimsoll_placement.cpsat.objective import Level
from plimsoll_placement.cpsat.sums import at_least
from plimsoll_placement.solution import Score

WORTH_GAP = 0.002
"""How near to the best is near enough in the last level: nodes realise it less exactly."""

UNBOUNDED = 1 << 62
"""A bound that says nothing."""

ROUNDING = 1e-6
"""By how much CP-SAT's bound of an integer objective may be off."""

LEAST_SECONDS = 0.05
"""With less time than this left, no further level is begun."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best values found, and the bound of each level given those before it."""

    values: Sequence[int]
    bound: Score
    in_time: bool


def search(
    draft: Draft, levels: Sequence[Level], start: Sequence[int], bound: Score, seconds: float
) -> Found:
    """Values at least as good as `start` in the levels' order, within deterministic seconds.

    `bound` holds for each level on its own. That returned holds for each level of placements that
    are best in all levels before it.
    """
    values, proven, left = start, list(bound.levels), seconds
    in_time = True
    for place, level in enumerate(levels):
        reached = level.score(level.total.value(values))
        if reached < proven[place]:
            is_last = place == len(levels) - 1
            step = _climb(draft, level, values, left if is_last else left / 2, is_last=is_last)
            values, left = step.values, left - step.seconds
            proven[place] = min(proven[place], step.bound)
            in_time = in_time and step.is_proven
            reached = level.score(level.total.value(values))
        at_least(draft.model, level.total, level.least_value(min(reached, proven[place])))
    return Found(values, Score(tuple(proven)), in_time)


@dataclass(frozen=True, slots=True)
class _Step:
    """What one level came to: values, a bound of its score, the time that took."""

    values: Sequence[int]
    bound: int
    seconds: float
    is_proven: bool


def _climb(
    draft: Draft, level: Level, values: Sequence[int], seconds: float, *, is_last: bool
) -> _Step:
    """The best values of one level, from given ones on."""
    if not level.total.variables or seconds < LEAST_SECONDS:
        most = level.score(0) if not level.total.variables else UNBOUNDED
        return _Step(values, most, 0.0, is_proven=not level.total.variables)
    draft.model.maximize(level.total.expression())
    _hint(draft, values)
    solver = _solver(seconds, WORTH_GAP if is_last else 0.0)
    status = solver.solve(draft.model)
    spent = float(solver.response_proto.deterministic_time)
    if status not in (OPTIMAL, FEASIBLE):
        return _Step(values, UNBOUNDED, spent, is_proven=False)
    found = list(solver.response_proto.solution)
    better = max(values, found, key=level.total.value)
    bound = level.score(floor(solver.best_objective_bound + ROUNDING) * level.total.divisor)
    return _Step(better, bound, spent, is_proven=status == OPTIMAL)


def _hint(draft: Draft, values: Sequence[int]) -> None:
    draft.model.clear_hints()
    for index, value in enumerate(values):
        draft.model.add_hint(draft.model.get_int_var_from_proto_index(index), value)


def _solver(seconds: float, gap: float) -> CpSolver:
    solver = CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = seconds
    solver.parameters.relative_gap_limit = gap
    solver.parameters.cp_model_probing_level = 0
    return solver
