"""The whole problem as a fluid: how good any plan can be, and what of each group runs in which way.

Cells do not tell power domains apart, which the program spreads them over by itself; so there are
few cells even of thousands of nodes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import floor

from plimsoll_placement.cpsat.cells import cells
from plimsoll_placement.cpsat.groups import Group, groups
from plimsoll_placement.cpsat.options import Catalogue
from plimsoll_placement.cpsat.relaxation import Relaxation, pinned_jobs
from plimsoll_placement.linear.accounts import limit_queues
from plimsoll_placement.linear.columns import Shares, shares
from plimsoll_placement.linear.levels import Level, levels
from plimsoll_placement.linear.limits import limit_all
from plimsoll_placement.linear.program import Climber, Column, Program
from plimsoll_placement.problem import WHOLE_GPU_MILLI, Node, Problem
from plimsoll_placement.score import price_class

SLACK = 1e-5
"""The part of a level that may be given up for the next, so that the next is not all corners."""


DIVES = 1
"""So often the program is solved again without gangs that it would split; more gave no more."""

SPLIT_SHARE = 0.0005
"""Gangs may stay split if what they have is less than this of all GPUs."""

NEARLY = 1e-4
"""So close to a whole number is one."""

HALF = 0.5


@dataclass(frozen=True, slots=True)
class Split:
    """A gang of which the program has a `share` only, and caps that would leave it out."""

    share: float
    gpus: float
    caps: tuple[tuple[Column, float], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Fluid:
    """A linear program of the problem, and what was found with it."""

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
        """The columns where all levels are best, each given those before; None if not found.

        Large gangs are not split if that can be helped: those of which the program has less than
        half go without, and it is solved again for the rest.
        """
        values, capped = self._climb(), list[Column]()
        for _ in range(DIVES):
            columns = self._dive(values)
            if not columns:
                break
            capped += columns
            values = self._climb() or values
        for column in capped:
            self.climber.cap(column, None)
        return values

    def _climb(self) -> Sequence[float] | None:
        """Climb the levels, one after the other."""
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

    def _dive(self, values: Sequence[float] | None) -> list[Column]:
        """Cap the gangs of which there is least, unless hardly anything is split; their columns."""
        split = [] if values is None else sorted(self._split(values), key=lambda each: each.share)
        if sum(each.gpus for each in split) <= self._gpus() * SPLIT_SHARE:
            return []
        capped: list[Column] = []
        for each in [one for one in split if one.share < HALF] or split[:1]:
            for column, most in each.caps:
                self.climber.cap(column, most)
                capped.append(column)
        return capped

    def _split(self, values: Sequence[float]) -> Iterator[Split]:
        for own in self.shares:
            if own.service is None:
                for ways in own.by_option():
                    runs = sum(values[way.count] for way in ways)
                    share = runs - floor(runs + NEARLY)
                    if share > NEARLY:
                        role, least = ways[0].option.role, ways[0].option.least
                        gpus = least * role.pods_per_replica * role.shape.gpu_milli
                        kept = 1 - share / runs
                        caps = tuple(
                            (way.count, max(0.0, kept * values[way.count])) for way in ways
                        )
                        yield Split(share, share * gpus / WHOLE_GPU_MILLI, caps)

    def _gpus(self) -> float:
        cells = (self.relaxed.cells.cells[place] for place in self.relaxed.cells.whole.cells)
        return sum(float(cell.free_milli.sum()) for cell in cells) / WHOLE_GPU_MILLI

    def _hold_nothing(self) -> None:
        for place in range(len(self.levels)):
            self.climber.hold(place, float("-inf"))

    def bound(self, reached: Sequence[int]) -> tuple[int | None, ...]:
        """For each level the most that placements can have which reach all levels before it."""
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


def relaxed_over_cells(problem: Problem) -> Relaxation:
    """All that can be chosen, by cells that do not tell power domains apart."""
    ledger, pinned = pinned_jobs(problem)
    movable = [job for job in problem.jobs if not job.pinned]
    masks = {role.eligible for job in movable for role in job.roles}
    required = {
        job.required_level for job in movable if job.gang and job.required_level is not None
    }
    found = cells(problem, masks, required, pinned, _alike)
    catalogue = Catalogue(problem, found)
    alike = groups(problem)
    options = tuple(catalogue.of(_without_preference(group)) for group in alike)
    return Relaxation(problem, ledger, found, alike, options, pinned)


def _alike(node: Node) -> tuple[object, ...]:
    return node.spot, *price_class(node)


def _without_preference(group: Group) -> Group:
    return replace(group, jobs=(replace(group.job, preferred_level=None),))
