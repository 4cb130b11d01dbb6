"""A plan by linear programming, and a bound on how good any plan can be."""

from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll_placement.lp.diving import dived
from plimsoll_placement.lp.fluid import Fluid, relaxed_over_node_classes
from plimsoll_placement.lp.rounding import rounded
from plimsoll_placement.model import Assignments, JobName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Score

COLUMNS_PER_SECOND = 8_000
"""The pace of the whole: building, several climbs, diving, rounding."""


@dataclass(frozen=True, slots=True)
class LpResult:
    """Placements, if any were found, a bound for each level, and the deterministic seconds taken.

    The bound of a level holds for all placements that are no worse in the levels before it than the
    best known.
    """

    placements: Mapping[JobName, Assignments] | None
    bound: Score
    seconds: float


def solved(problem: Problem, best: Score, bound: Score, seconds: float) -> LpResult:
    """Placements and a bound no higher than `bound`, unless all this would take too long."""
    relaxed = relaxed_over_node_classes(problem)
    needed = relaxed.size / COLUMNS_PER_SECOND
    if needed > seconds:
        return LpResult(None, bound, 0.0)
    fluid = Fluid.of(relaxed, seconds)
    values = fluid.best()
    placements = None if values is None else rounded(fluid, dived(fluid, values))
    if placements is not None:
        best = max(best, score(problem, placements))
    pairs = zip(bound.levels, fluid.bound(best.levels), strict=True)
    levels = (old if new is None else min(old, new) for old, new in pairs)
    return LpResult(placements, Score(tuple(levels)), needed)
