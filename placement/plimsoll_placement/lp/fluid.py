"""The whole problem as a fluid: a bound for any plan, and how each job class should run.

Node classes do not tell power domains apart, over which the program spreads them by itself; so
there are few classes even of thousands of nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from plimsoll_placement.classes.job_classes import JobClass, job_classes
from plimsoll_placement.classes.node_classes import node_classes
from plimsoll_placement.classes.options import Catalogue
from plimsoll_placement.classes.relaxation import Relaxation, pinned_jobs
from plimsoll_placement.lp.accounts import limit_queues
from plimsoll_placement.lp.columns import Shares, shares
from plimsoll_placement.lp.limits import limit_all
from plimsoll_placement.lp.objective import Level, levels
from plimsoll_placement.lp.program import Climber, Program
from plimsoll_placement.model import Node
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import price_class

SLACK = 1e-5
"""The share of a level that may be given up for the next, so that the next is less degenerate."""


@dataclass(frozen=True, slots=True, eq=False)
class Fluid:
    """A linear program of the problem, and its results."""

    relaxed: Relaxation
    shares: tuple[Shares, ...]
    levels: tuple[Level, ...]
    climber: Climber

    @classmethod
    def of(cls, relaxed: Relaxation, deterministic_seconds: float) -> "Fluid":
        """The linear program of a relaxation."""
        program = Program()
        own = shares(program, relaxed)
        limit_all(program, relaxed, own)
        limit_queues(program, relaxed, own)
        found = tuple(levels(program, relaxed, own))
        climber = Climber(program, [level.terms for level in found], deterministic_seconds)
        return cls(relaxed, own, found, climber)

    def best(self) -> Sequence[float] | None:
        """The columns where all levels are best, each given those before; None if not found."""
        self._hold_nothing()
        values = self.climber.nothing()
        places = [place for place, level in enumerate(self.levels) if level.terms]
        for place in places:
            value = self.climber.climb(place)
            if value is None:
                return None
            if place == places[-1]:
                values = self.climber.values()
            self.climber.hold(place, value - SLACK * (1 + abs(value)))
        return values

    def _hold_nothing(self) -> None:
        for place in range(len(self.levels)):
            self.climber.hold(place, float("-inf"))

    def bound(self, reached: Sequence[int]) -> tuple[int | None, ...]:
        """For each level, the most that placements can have that reach all levels before it."""
        self._hold_nothing()
        found: list[int | None] = []
        for place, level in enumerate(self.levels):
            if not level.terms:
                found.append(level.constant)
                continue
            value = self.climber.climb(place)
            found.append(None if value is None else level.score(value))
            self.climber.hold(place, level.value(reached[place]))
        return tuple(found)


def relaxed_over_node_classes(problem: Problem) -> Relaxation:
    """Everything that can be chosen, by node classes that do not tell power domains apart."""
    ledger, pinned = pinned_jobs(problem)
    movable = [job for job in problem.jobs if not job.pinned]
    masks = {role.eligible for job in movable for role in job.roles}
    required = {
        job.required_level for job in movable if job.gang and job.required_level is not None
    }
    found = node_classes(problem, masks, required, pinned, _alike)
    catalogue = Catalogue(problem, found)
    alike = job_classes(problem)
    options = tuple(catalogue.of(_without_preference(job_class)) for job_class in alike)
    return Relaxation(problem, ledger, found, alike, options, pinned)


def _alike(node: Node) -> tuple[object, ...]:
    return node.spot, *price_class(node)


def _without_preference(job_class: JobClass) -> JobClass:
    return replace(job_class, jobs=(replace(job_class.job, preferred_level=None),))
