"""Repack a few GPUs at a time, again and again, as many at once are too many to search.

Each time the GPU under the most pressure is packed anew together with a few others, so that all of
them come below it. The others are drawn, from a seed, mostly among those under little pressure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from plimsoll_bench.sharing.packing import Packed, packing
from plimsoll_bench.sharing.pressure import pressure, weighed
from plimsoll_bench.sharing.shared_models import Model, SharingProblem

AT_ONCE = 5
"""How many GPUs are packed anew together."""

STATES_AT_ONCE = 300
"""How many partial packings of these are examined."""

PATIENCE = 60
"""How many draws in a row may fail."""


Group = tuple[Model, ...]


@dataclass(frozen=True, slots=True)
class Repacked:
    """Groups of models with less pressure on the worst, and how many states that took."""

    groups: tuple[Group, ...]
    states: int


def repacked(problem: SharingProblem, groups: Iterable[Group], most_states: int) -> Repacked:
    """Groups in which no drawn set of a few GPUs could be packed better."""
    rng, states, failures = Random(0), 0, 0
    current = _ordered(groups, problem.memory_bytes)
    while failures < PATIENCE and states < most_states and len(current) > 1:
        places = _drawn(rng, len(current))
        part = [current[place] for place in places]
        better, looked_at = _packed_anew(part, problem.memory_bytes)
        states, failures = states + looked_at + 1, failures + 1
        if better is not None:
            failures = 0
            kept = [group for place, group in enumerate(current) if place not in places]
            current = _ordered((*kept, *better), problem.memory_bytes)
    return Repacked(tuple(current), states)


def _packed_anew(part: Sequence[Group], memory_bytes: int) -> tuple[list[Group] | None, int]:
    """Groups of the same models under less pressure than the last of the part, if there are any."""
    limit = pressure(part[-1], memory_bytes) or Fraction(0)
    models = tuple(model for group in part for model in group)
    scale = weighed(SharingProblem(models, len(part), memory_bytes), limit)
    found = packing(scale.weights, scale.capacity, len(part), STATES_AT_ONCE)
    if not isinstance(found, Packed):
        return None, found.states
    filled = [tuple(models[item] for item in items) for items in found.bins]
    empty: list[Group] = [()] * (len(part) - len(filled))
    return filled + empty, found.states


def _ordered(groups: Iterable[Group], memory_bytes: int) -> list[Group]:
    """From the least pressure to the largest."""
    return sorted(groups, key=lambda group: _order(group, memory_bytes))


def _drawn(rng: Random, count: int) -> list[int]:
    """The last, and others before it: indices towards the start are drawn more often."""
    others = min(AT_ONCE, count) - 1
    places: set[int] = set()
    while len(places) < others:
        places.add(int((count - 1) * rng.random() ** 2))
    return [*sorted(places), count - 1]


def _order(group: Group, memory_bytes: int) -> tuple[Fraction, tuple[str, ...]]:
    return pressure(group, memory_bytes) or Fraction(0), tuple(model.name for model in group)
