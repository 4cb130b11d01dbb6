"""What was decided: which replicas run where, how good that is, and how good it could be."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import total_ordering

from plimsoll_placement.model import Assignments, JobName


class Outcome(StrEnum):
    """How the search for something better than greedy's plan ended."""

    OPTIMAL = "Optimal"
    IMPROVED = "Improved"
    GREEDY = "Greedy"
    TIMED_OUT = "TimedOut"


@total_ordering
@dataclass(frozen=True, slots=True)
class Score:
    """How good placements are: levels compared from the first on, like tuples; more is better.

    The levels, in order (see `score.py` for the formulas): guaranteed shares in use; then for each
    priority, highest first, what keeps running and what is admitted; last the useful work less its
    price.
    `unpaid` is what changes throw away for too little (see `price.py`). Only a guarantee is worth
    that: less of it is better whatever the later levels are.
    """

    levels: tuple[int, ...]
    unpaid: int = 0

    def __lt__(self, other: "Score") -> bool:
        return self._order < other._order

    @property
    def _order(self) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
        return self.levels[:1], -self.unpaid, self.levels[1:]


@dataclass(frozen=True, slots=True)
class Pressure:
    """The largest pressure on a shared GPU that takes new replicas, and a bound that none can beat.

    In requests, in the time within which each is promised, for each GiB that weights leave free.
    """

    reached: float
    bound: float


@dataclass(frozen=True, slots=True)
class Solution:
    """Placements for all jobs that run; a job that is not named waits.

    `bound` is at least the best score that any feasible placements can have. `reseated` are
    services with a replica that moves to a shared GPU under less pressure.
    """

    placements: Mapping[JobName, Assignments]
    score: Score
    bound: Score
    outcome: Outcome
    pressure: Pressure | None = None
    reseated: frozenset[JobName] = frozenset()

    @property
    def gap_percent(self) -> float:
        """How far the first level not proven optimal is from its bound; 0 if all are proven."""
        for got, best in zip(self.score.levels, self.bound.levels, strict=True):
            if best > got:
                return 100.0 * (best - got) / max(abs(best), 1)
        return 0.0
