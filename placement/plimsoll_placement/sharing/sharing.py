"""Choose which replicas share a GPU so that the largest pressure is least, with a bound.

A limit on the pressure makes it a bin packing problem (see `pressure.py`). A first packing, given
or by best fit, is improved by repacking a few GPUs at a time. Then the limit is bisected between a
bound and the best packing: each search finds a better one or proves a bound. It ends with a proof,
or when the allowed states run out; with no clock, the same problem has the same answer.
"""

from dataclasses import dataclass
from fractions import Fraction

from plimsoll_placement.effort import SHARING_STATES
from plimsoll_placement.sharing.fitting import are_too_many, best_fit, fitting
from plimsoll_placement.sharing.packing import Packed, lower_bound
from plimsoll_placement.sharing.pressure import (
    NO_PRESSURE,
    Weighed,
    is_allowed,
    largest,
    sizes,
    weighed,
)
from plimsoll_placement.sharing.problem import Groups, Sharing, SharingProblem, Unshared
from plimsoll_placement.sharing.repacking import repacked

MOST_AT_ONCE = 16
"""With more GPUs than this the whole is not searched."""

NEAR = Fraction(1, 1000)
"""With bound and best this near, the best is the next limit: no packing below it is a proof."""

MOST_PAIRS = 4_000_000
"""With more pairs of a replica and a GPU than this none are packed all at once."""

START_STEPS = 10
BOUND_STEPS = 20


@dataclass(slots=True)
class _Progress:
    """The best groups so far, with their pressure, what is proven, and the states left."""

    groups: Groups
    pressure: Fraction
    bound: Fraction
    states_left: int


def shared(
    problem: SharingProblem, start: Groups | None = None, most_states: int = SHARING_STATES
) -> Sharing | Unshared:
    """The replicas on each GPU such that the largest pressure is as small as could be found.

    It is no larger than with `start`, where that is given and leaves memory free everywhere.
    """
    found = _started(problem, start, most_states)
    if isinstance(found, Unshared):
        return found
    progress = _Progress(found, largest(problem, found) or NO_PRESSURE, NO_PRESSURE, most_states)
    _repack(problem, progress)
    _raise_bound(problem, progress)
    if len(problem.gpus) <= MOST_AT_ONCE:
        _bisect(problem, progress)
    states = most_states - progress.states_left
    return Sharing(progress.groups, progress.pressure, progress.bound, states)


def _started(problem: SharingProblem, start: Groups | None, most_states: int) -> Groups | Unshared:
    """Any way to hold all weights in memory."""
    if start is not None and is_allowed(problem, start) and largest(problem, start) is not None:
        return start
    scale = sizes(problem)
    if _is_too_much(problem, scale):
        return Unshared(is_proven=True)
    quick = best_fit(problem, scale)
    if quick is not None and largest(problem, quick) is not None:
        return quick
    if len(problem.gpus) > MOST_AT_ONCE:
        return Unshared(is_proven=False)
    found = fitting(problem, scale, most_states)
    return found.bins if isinstance(found, Packed) else Unshared(found.is_proven)


def _repack(problem: SharingProblem, progress: _Progress) -> None:
    """Better groups: by best fit under the least limit that allows it, then a few at a time."""
    low, high = progress.bound, progress.pressure
    if len(problem.sharers) * len(problem.gpus) <= MOST_PAIRS:
        for _ in range(START_STEPS):
            limit = _between(low, high)
            found = best_fit(problem, weighed(problem, limit))
            if found is None:
                low = limit
            else:
                high = _better(problem, progress, found)
    better = repacked(problem, progress.groups, progress.states_left // 2)
    progress.states_left -= better.states
    _better(problem, progress, better.groups)


def _raise_bound(problem: SharingProblem, progress: _Progress) -> None:
    """Bisect for the largest limit at which counting alone shows that there is too little."""
    high = progress.pressure
    for _ in range(BOUND_STEPS):
        limit = _between(progress.bound, high)
        if _is_too_much(problem, weighed(problem, limit)):
            progress.bound = limit
        else:
            high = limit


def _is_too_much(problem: SharingProblem, scale: Weighed) -> bool:
    if are_too_many(problem, scale):
        return True
    if not problem.is_uniform:
        return False
    descending = sorted(scale.weights, reverse=True)
    return lower_bound(descending, scale.capacities[0]) > len(problem.gpus)


def _bisect(problem: SharingProblem, progress: _Progress) -> None:
    """Search below a limit between what is proven and the best, until both are the same."""
    unknown_below = progress.bound
    while progress.states_left > 0 and progress.pressure > progress.bound:
        limit = _between(unknown_below, progress.pressure)
        if progress.pressure - unknown_below <= NEAR * progress.pressure:
            limit = progress.pressure
        states = max(1, progress.states_left // 2)
        found = fitting(problem, weighed(problem, limit), states)
        progress.states_left -= found.states + 1
        if isinstance(found, Packed):
            _better(problem, progress, found.bins)
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


def _better(problem: SharingProblem, progress: _Progress, groups: Groups) -> Fraction:
    """Keep groups if they are better than the best; return their pressure."""
    pressure = largest(problem, groups)
    if pressure is not None and pressure < progress.pressure:
        progress.groups, progress.pressure = groups, pressure
    return progress.pressure if pressure is None else pressure
