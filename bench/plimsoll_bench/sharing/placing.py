"""Choose which models share a GPU so that the largest pressure is least, with a bound.

A limit on the pressure makes it a bin packing problem (see `pressure.py`). A first packing by best
fit is improved by repacking a few GPUs at a time. Then the limit is bisected between a bound and
the best packing: each search finds a better one or proves a bound. It ends with a proof, or when
the allowed states run out; with no clock, the same problem has the same answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from plimsoll_bench.sharing.packing import Bins, Packed, best_fit, lower_bound, packing
from plimsoll_bench.sharing.pressure import Weighed, fluid_bound, largest, sizes, weighed
from plimsoll_bench.sharing.repacking import repacked
from plimsoll_bench.sharing.shared_models import (
    Groups,
    Model,
    ModelName,
    Sharing,
    SharingProblem,
    Unshared,
)

MOST_STATES = 8000
"""How many partial packings may be examined by default, which takes some tenths of a second."""

MOST_AT_ONCE = 16
"""With more GPUs than this the whole is not searched."""

NEAR = Fraction(1, 1000)
"""With bound and best this near, the best is the next limit: no packing below it is a proof."""

START_STEPS = 10
BOUND_STEPS = 20
DOUBLINGS = 20


@dataclass(slots=True)
class _Progress:
    """The best groups so far, with their pressure, what is proven, and the states left."""

    groups: tuple[tuple[Model, ...], ...]
    pressure: Fraction
    bound: Fraction
    states_left: int


def shared(problem: SharingProblem, most_states: int = MOST_STATES) -> Sharing | Unshared:
    """The models on each GPU such that the largest pressure is as small as could be found."""
    start, bound = _start(problem, most_states), fluid_bound(problem)
    if isinstance(start, Unshared):
        return start
    if bound is None:
        return Unshared(is_proven=True)
    groups = _grouped(problem, start)
    progress = _Progress(groups, largest(groups, problem.memory_bytes), bound, most_states)
    _repack(problem, progress)
    _raise_bound(problem, progress)
    if problem.gpus <= MOST_AT_ONCE:
        _bisect(problem, progress)
    return _sharing(progress, most_states)


def _start(problem: SharingProblem, most_states: int) -> Bins | Unshared:
    """Any way to hold all models in memory."""
    scale = sizes(problem)
    if lower_bound(sorted(scale.weights, reverse=True), scale.capacity) > problem.gpus:
        return Unshared(is_proven=True)
    quick = best_fit(scale.weights, scale.capacity, problem.gpus)
    if quick is not None:
        return quick
    if problem.gpus > MOST_AT_ONCE:
        return Unshared(is_proven=False)
    found = packing(scale.weights, scale.capacity, problem.gpus, most_states)
    return found.bins if isinstance(found, Packed) else Unshared(found.is_proven)


def _repack(problem: SharingProblem, progress: _Progress) -> None:
    """Better groups: by best fit under the least limit that allows it, then a few at a time."""
    low, high = progress.bound, progress.pressure
    for _ in range(START_STEPS):
        limit = _between(low, high)
        scale = weighed(problem, limit)
        found = best_fit(scale.weights, scale.capacity, problem.gpus)
        if found is None:
            low = limit
        else:
            high = _better(problem, progress, _grouped(problem, found))
    better = repacked(problem, progress.groups, progress.states_left // 2)
    progress.states_left -= better.states
    _better(problem, progress, better.groups)


def _raise_bound(problem: SharingProblem, progress: _Progress) -> None:
    """Bisect for the largest limit at which counting alone shows that there are too few bins."""
    high = progress.pressure
    for _ in range(BOUND_STEPS):
        limit = _between(progress.bound, high)
        if _too_few(weighed(problem, limit), problem.gpus):
            progress.bound = limit
        else:
            high = limit


def _too_few(scale: Weighed, bins: int) -> bool:
    return lower_bound(sorted(scale.weights, reverse=True), scale.capacity) > bins


def _bisect(problem: SharingProblem, progress: _Progress) -> None:
    """Search below a limit between what is proven and the best, until both are the same."""
    unknown_below = progress.bound
    while progress.states_left > 0 and progress.pressure > progress.bound:
        limit = _between(unknown_below, progress.pressure)
        if progress.pressure - unknown_below <= NEAR * progress.pressure:
            limit = progress.pressure
        scale = weighed(problem, limit)
        states = max(1, progress.states_left // 2)
        found = packing(scale.weights, scale.capacity, problem.gpus, states)
        progress.states_left -= found.states + 1
        if isinstance(found, Packed):
            _better(problem, progress, _grouped(problem, found.bins))
        else:
            unknown_below = limit
            progress.bound = max(progress.bound, limit) if found.is_proven else progress.bound
        if limit == progress.pressure and not isinstance(found, Packed):
            return


def _between(low: Fraction, high: Fraction) -> Fraction:
    """About halfway between, with a denominator that stays small."""
    middle = (low + high) / 2
    step = (high - low) / 8
    return middle.limit_denominator(max(1, int(1 / step))) if step else middle


def _better(
    problem: SharingProblem, progress: _Progress, groups: tuple[tuple[Model, ...], ...]
) -> Fraction:
    """Keep groups if they are better than the best; return their pressure."""
    pressure = largest(groups, problem.memory_bytes)
    if pressure < progress.pressure:
        progress.groups, progress.pressure = groups, pressure
    return pressure


def _grouped(problem: SharingProblem, bins: Bins) -> tuple[tuple[Model, ...], ...]:
    return tuple(tuple(problem.models[item] for item in items) for items in bins)


def _sharing(progress: _Progress, most_states: int) -> Sharing:
    groups: Groups = tuple(_names(group) for group in progress.groups)
    states = most_states - progress.states_left
    return Sharing(groups, progress.pressure, progress.bound, states)


def _names(group: Sequence[Model]) -> tuple[ModelName, ...]:
    return tuple(model.name for model in group)
