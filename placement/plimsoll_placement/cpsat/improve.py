"""Better placements than those at hand, and a bound on how good any can be.

The model is solved over cells and groups, then realised on nodes. Where realising loses what the
model promised, the bound still tells how much that can be at the most.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll_placement.cpsat.constraints import constrain
from plimsoll_placement.cpsat.draft import draft
from plimsoll_placement.cpsat.hint import values_of
from plimsoll_placement.cpsat.objective import levels
from plimsoll_placement.cpsat.realise import realised
from plimsoll_placement.cpsat.relaxation import relaxation
from plimsoll_placement.cpsat.search import search
from plimsoll_placement.problem import Assignment, JobName, Problem
from plimsoll_placement.score import score
from plimsoll_placement.solution import Outcome, Score

MOST_VARIABLES = 200_000
"""A larger model would take longer to build than it is given to be solved."""

Placements = Mapping[JobName, tuple[Assignment, ...]]


@dataclass(frozen=True, slots=True)
class Improvement:
    """What the model came to: no placements where it found none that are better."""

    placements: Placements | None
    bound: Score
    outcome: Outcome


def improve(
    problem: Problem, start: Placements, bound: Score, deterministic_seconds: float
) -> Improvement:
    """Placements better than `start`, which are sound, within CP-SAT's deterministic time.

    `bound` holds for each level on its own. The bound returned is no higher, and holds for each
    level of those placements that are best in all levels before it.
    """
    relaxed = relaxation(problem)
    if relaxed.size > MOST_VARIABLES:
        return Improvement(None, bound, Outcome.GREEDY)
    made = draft(relaxed)
    constrain(made)
    objective = levels(made)
    found = search(made, objective, values_of(made, start), bound, deterministic_seconds)
    placements = realised(made, found.values)
    reached, before = score(problem, placements), score(problem, start)
    is_better = reached > before
    outcome = Outcome.IMPROVED if is_better else Outcome.GREEDY
    if max(reached, before) >= found.bound:
        outcome = Outcome.OPTIMAL
    elif not is_better and not found.in_time:
        outcome = Outcome.TIMED_OUT
    return Improvement(placements if is_better else None, found.bound, outcome)
