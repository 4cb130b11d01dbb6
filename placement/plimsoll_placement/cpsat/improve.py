"""Better placements than those given, and a bound on how good any can be.

First admission: every level of the score but the last, with gangs at their least size. Then, with
that held, sizes and places, which is the last level. Each result is about node classes and job
classes, and is realised on nodes before the next is sought; the best so far is the next start.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from plimsoll_placement.classes.relaxation import Relaxation, admission, relaxation
from plimsoll_placement.cpsat.branching import branched
from plimsoll_placement.cpsat.builder import ModelBuilder, builder
from plimsoll_placement.cpsat.constraints import constrain
from plimsoll_placement.cpsat.hint import values_of
from plimsoll_placement.cpsat.objective import admission_levels, worth_level
from plimsoll_placement.cpsat.realise import realised
from plimsoll_placement.cpsat.search import climb, climb_all, hold
from plimsoll_placement.model import Placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Outcome, Score

VARIABLES_PER_SECOND = 15_000
"""The pace at which a model is built, begun and realised; that is deducted from its time."""

ADMISSION_SHARE = 0.7
"""The share of the time that deciding admission may take."""

SERVE_ALL_SHARE = 0.5
"""The share of the time that services may be sought in which all of them are served."""


@dataclass(frozen=True, slots=True)
class Improvement:
    """What the model achieved: no placements if it found none that are better.

    `seconds_left` is what is left of its deterministic time.
    """

    placements: Placements | None
    bound: Score
    outcome: Outcome
    seconds_left: float


@dataclass(frozen=True, slots=True)
class _Progress:
    """The best placements so far, what is known of the best possible, the time left."""

    placements: Placements
    bound: tuple[int, ...]
    seconds_left: float
    is_proven: bool = True


def improve(
    problem: Problem, start: Placements, bound: Score, deterministic_seconds: float
) -> Improvement:
    """Placements better than `start`, which are sound, within CP-SAT's deterministic time.

    `bound` holds for each level on its own. The bound returned is no higher, and holds for each
    level of those placements that are optimal in all levels before it.
    """
    progress = _Progress(start, bound.levels, deterministic_seconds)
    steps = [(_admit, admission), (_grow, relaxation)]
    if not any(job.gang for job in problem.jobs):
        steps.insert(0, (_serve_all, relaxation))
    for step, view in steps:
        relaxed = view(problem)
        left = progress.seconds_left - relaxed.size / VARIABLES_PER_SECOND
        if left <= 0:
            break
        progress = step(relaxed, replace(progress, seconds_left=left))
    return _improvement(problem, start, progress)


def _serve_all(relaxed: Relaxation, progress: _Progress) -> _Progress:
    """Decide what services run as if there were enough for all: sizes and admission in one search.

    Where there just is, that finds in no time what admission first and money after would not.
    """
    made = _model(relaxed)
    for level, best in zip(admission_levels(made), progress.bound[:-1], strict=True):
        hold(made, level, best)
    seconds = SERVE_ALL_SHARE * progress.seconds_left
    start, worth = values_of(made, progress.placements), worth_level(made)
    values, spent = branched(made, worth, seconds)
    if values:
        progress = replace(progress, placements=_better(made, values, progress.placements))
    found = climb(made, worth, values or start, seconds - spent)
    left = progress.seconds_left - spent - found.seconds
    if not found.values or not found.seconds:
        return replace(progress, seconds_left=left)
    return _Progress(
        _better(made, found.values, progress.placements),
        (*progress.bound[:-1], min(progress.bound[-1], *found.bound)),
        left,
    )


def _admit(relaxed: Relaxation, progress: _Progress) -> _Progress:
    """Decide which jobs run."""
    made = _model(relaxed)
    levels, start = admission_levels(made), values_of(made, progress.placements)
    seconds = ADMISSION_SHARE * progress.seconds_left
    found = climb_all(made, levels, start, progress.bound[:-1], seconds)
    return _Progress(
        _better(made, found.values, progress.placements),
        (*found.bound, progress.bound[-1]),
        progress.seconds_left - found.seconds,
        found.is_proven,
    )


def _grow(relaxed: Relaxation, progress: _Progress) -> _Progress:
    """Decide sizes and places, without losing anything decided before.

    What that shows of the best possible holds only if what was decided before is optimal.
    """
    made, reached = _model(relaxed), score(relaxed.problem, progress.placements).levels[:-1]
    for level, least in zip(admission_levels(made), reached, strict=True):
        hold(made, level, least)
    worth, start = worth_level(made), values_of(made, progress.placements)
    found = climb(made, worth, start, progress.seconds_left)
    is_best = reached == progress.bound[:-1]
    return _Progress(
        _better(made, found.values, progress.placements) if found.values else progress.placements,
        (*progress.bound[:-1], min(progress.bound[-1:] + (found.bound if is_best else ()))),
        progress.seconds_left - found.seconds,
        progress.is_proven and found.is_proven,
    )


def _model(relaxed: Relaxation) -> ModelBuilder:
    made = builder(relaxed)
    constrain(made)
    return made


def _better(made: ModelBuilder, values: Sequence[int], placements: Placements) -> Placements:
    """The values realised on nodes, if that is better than what there was."""
    problem = made.relaxation.problem
    return max(placements, *realised(made, values), key=lambda each: score(problem, each))


def _improvement(problem: Problem, start: Placements, progress: _Progress) -> Improvement:
    bound = Score(progress.bound)
    is_better = progress.placements is not start
    if score(problem, progress.placements) >= bound:
        outcome = Outcome.OPTIMAL
    elif is_better:
        outcome = Outcome.IMPROVED
    else:
        outcome = Outcome.GREEDY if progress.is_proven else Outcome.TIMED_OUT
    placements = progress.placements if is_better else None
    return Improvement(placements, bound, outcome, progress.seconds_left)
