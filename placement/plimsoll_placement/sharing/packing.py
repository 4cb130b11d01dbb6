"""Pack items into a number of bins of one size: a search that fills one bin after the other.

The largest item left opens a bin, which is filled with what fits it best; what was left over once
and found not to fit is not tried again (bin completion, Korf 2002). Two bounds end a branch: the
sum of what is left, and a count of the large items with the sum of the small (Martello, Toth).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Bins = tuple[tuple[int, ...], ...]
"""The items in each bin, by their index."""

MOST_BOUNDS = 64
"""From about how many sizes of items a bound is counted."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Items that fit; which bin holds which."""

    bins: Bins
    states: int


@dataclass(frozen=True, slots=True)
class NotPacked:
    """No bins: there are none if `is_proven`, otherwise the limit on states was reached."""

    is_proven: bool
    states: int


def packing(
    weights: Sequence[int], capacity: int, bins: int, most_states: int
) -> Packed | NotPacked:
    """Each item in one of the bins, none of which weighs more than the capacity."""
    is_too_heavy = max(weights, default=0) > capacity
    if is_too_heavy or lower_bound(sorted(weights, reverse=True), capacity) > bins:
        return NotPacked(is_proven=True, states=0)
    search = _Search(weights, capacity, most_states)
    found = search.fill(tuple(range(len(weights))), bins)
    if found is not None:
        return Packed(tuple(tuple(search.order[i] for i in each) for each in found), search.states)
    return NotPacked(is_proven=search.states < most_states, states=search.states)


def lower_bound(descending: Sequence[int], capacity: int) -> int:
    """The least number of bins needed; more than the items if one of them is larger than a bin."""
    if not descending:
        return 0
    if descending[0] > capacity:
        return len(descending) + 1
    halves = sum(2 * weight > capacity for weight in descending)
    # Any of them is a bound; looking from all sizes of many items takes too long.
    small = [0, *descending[halves :: max(1, len(descending) // MOST_BOUNDS)]]
    return max(_bound_beside(descending, capacity, least) for least in small)


def _bound_beside(descending: Sequence[int], capacity: int, least: int) -> int:
    """The bound of Martello and Toth for one size: items smaller than it are left aside."""
    alone = sum(weight > capacity - least for weight in descending)
    wide = [w for w in descending if w <= capacity - least and 2 * w > capacity]
    rest = sum(w for w in descending if 2 * w <= capacity and w >= least)
    room_beside = len(wide) * capacity - sum(wide)
    return alone + len(wide) + max(0, -(-(rest - room_beside) // capacity))


class _Search:
    """One search; items are renumbered from the heaviest on, `order` has their own numbers."""

    def __init__(self, weights: Sequence[int], capacity: int, most_states: int) -> None:
        self.order = sorted(range(len(weights)), key=lambda item: (-weights[item], item))
        self.weights = [weights[item] for item in self.order]
        self.capacity = capacity
        self.most_states = most_states
        self.states = 0
        self._failed: dict[tuple[int, ...], int] = {}

    def fill(self, left: tuple[int, ...], bins: int) -> list[tuple[int, ...]] | None:
        """Bins for the items left, ascending by number and so descending by weight."""
        if not left:
            return []
        spare = bins * self.capacity - sum(self.weights[item] for item in left)
        if spare < 0 or self._failed.get(left, 0) >= bins or self.states >= self.most_states:
            return None
        self.states += 1
        if lower_bound([self.weights[item] for item in left], self.capacity) <= bins:
            for filled in self._completions(left, spare):
                rest = tuple(item for item in left if item not in filled)
                found = self.fill(rest, bins - 1)
                if found is not None:
                    return [filled, *found]
        if self.states < self.most_states:
            self._failed[left] = bins
        return None

    def _completions(self, left: tuple[int, ...], spare: int) -> list[tuple[int, ...]]:
        """The ways to fill the bin of the first item, fullest first; none that wastes too much."""
        first, others = left[0], left[1:]
        room = self.capacity - self.weights[first]
        found = list(self._fillings(others, room, max(0, room - spare)))
        return [(first, *each) for _, each in sorted(found, key=lambda f: (f[0], len(f[1]), f[1]))]

    def _fillings(
        self, items: tuple[int, ...], room: int, least: int
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Sets of items that weigh from `least` to `room`, to which none more can be added.

        Each comes with the room that it leaves. Of items of equal weight the first are taken.
        """
        stack: list[tuple[int, int, tuple[int, ...], int]] = [(0, room, (), self.capacity + 1)]
        while stack:
            place, free, chosen, lightest_left_out = stack.pop()
            while place < len(items) and self.weights[items[place]] > free:
                place += 1
            if place == len(items):
                if free < lightest_left_out and room - free >= least:
                    yield free, chosen
                continue
            weight = self.weights[items[place]]
            after = place + 1
            while after < len(items) and self.weights[items[after]] == weight:
                after += 1
            stack.append((after, free, chosen, min(lightest_left_out, weight)))
            stack.append((place + 1, free - weight, (*chosen, items[place]), lightest_left_out))
