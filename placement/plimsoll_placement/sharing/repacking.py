"""Repack a few GPUs at a time, again and again, as many at once are too many to search.

Each time the GPU under the most pressure is packed anew together with a few others, so that all of
them come below it. The others are drawn, from a seed, mostly among those under little pressure.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from plimsoll_placement.sharing.fitting import fitting
from plimsoll_placement.sharing.packing import Packed
from plimsoll_placement.sharing.pressure import NO_PRESSURE, pressure, weighed
from plimsoll_placement.sharing.problem import Groups, Sharer, SharingProblem

AT_ONCE = 5
"""How many GPUs are packed anew together."""

STATES_AT_ONCE = 300
"""How many partial packings of these are examined."""

PATIENCE = 60
"""How many draws in a row may fail."""


@dataclass(frozen=True, slots=True)
class Repacked:
    """Groups with less pressure on the worst GPU, and how many states that took."""

    groups: Groups
    states: int


def repacked(problem: SharingProblem, groups: Groups, most_states: int) -> Repacked:
    """Groups in which no drawn set of a few GPUs could be packed better."""
    rng, states, failures = Random(0), 0, 0  # noqa: S311 - draws what is repacked, no secret
    current = dict(enumerate(groups))
    order = sorted(_order(problem, gpu, current[gpu]) for gpu in current)
    while failures < PATIENCE and states < most_states and len(order) > 1:
        drawn = [order[place] for place in _drawn(rng, len(order))]
        better, looked_at = _packed_anew(problem, [gpu for *_, gpu in drawn], current)
        states, failures = states + looked_at + 1, failures + 1
        if better is not None:
            failures = 0
            current.update(better)
            for each in drawn:
                del order[bisect_left(order, each)]
                insort(order, _order(problem, each[-1], current[each[-1]]))
    return Repacked(tuple(current[gpu] for gpu in range(len(groups))), states)


def _packed_anew(
    problem: SharingProblem, gpus: Sequence[int], groups: dict[int, tuple[int, ...]]
) -> tuple[dict[int, tuple[int, ...]] | None, int]:
    """Groups of the same replicas under less pressure than the last GPU, if there are any."""
    limit = _counted(problem, gpus[-1], groups[gpus[-1]])
    sharers = [sharer for gpu in gpus for sharer in groups[gpu]]
    if not limit:
        return None, 0
    part = SharingProblem(
        tuple(_within(problem.sharers[sharer], gpus) for sharer in sharers),
        tuple(problem.gpus[gpu] for gpu in gpus),
    )
    found = fitting(part, weighed(part, limit), STATES_AT_ONCE)
    if not isinstance(found, Packed):
        return None, found.states
    filled = (tuple(sharers[each] for each in items) for items in found.bins)
    return dict(zip(gpus, filled, strict=True)), found.states


def _within(sharer: Sharer, gpus: Sequence[int]) -> Sharer:
    """The replica, with its mask over some GPUs only."""
    mask = sum((sharer.gpus >> gpu & 1) << place for place, gpu in enumerate(gpus))
    return Sharer(sharer.weights_bytes, sharer.load, mask)


def _drawn(rng: Random, count: int) -> list[int]:
    """The last, and others before it: indices towards the start are drawn more often."""
    others = min(AT_ONCE, count) - 1
    places: set[int] = set()
    while len(places) < others:
        places.add(int((count - 1) * rng.random() ** 2))
    return [*sorted(places), count - 1]


def _counted(problem: SharingProblem, gpu: int, group: Sequence[int]) -> Fraction:
    """The pressure on a GPU; none where only what stays is there."""
    return (pressure(problem, gpu, group) or NO_PRESSURE) if group else NO_PRESSURE


def _order(
    problem: SharingProblem, gpu: int, group: Sequence[int]
) -> tuple[Fraction, Fraction, int]:
    """From the least pressure to the largest; of GPUs with none, by that of what stays there."""
    stays = pressure(problem, gpu, ())
    return _counted(problem, gpu, group), Fraction(1 << 60) if stays is None else stays, gpu
