"""Fit replicas on GPUs that differ: in what stays there, in room, in who may be there.

Where all GPUs are alike and vacant, a search for bins of one size is faster (see `packing.py`).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.sharing.packing import NotPacked, Packed, packing
from plimsoll_placement.sharing.pressure import Weighed, is_allowed
from plimsoll_placement.sharing.problem import Groups, SharingProblem

MOST_SEARCHED: Final = 128
"""More replicas at once are not searched for a way to fit all."""

MOST_PAIRS: Final = 100_000
"""With more pairs of a replica and a GPU than this it is not looked at whether each fits alone."""


def fitting(problem: SharingProblem, scale: Weighed, most_states: int) -> Packed | NotPacked:
    """A group for each GPU, none of which weighs more than the GPU's capacity."""
    if len(problem.sharers) > MOST_SEARCHED:
        return NotPacked(is_proven=False, states=0)
    spent = 0
    if problem.is_uniform:
        capacity, gpus = scale.capacities[0], len(problem.gpus)
        found = packing(scale.weights, capacity, gpus, most_states)
        if isinstance(found, NotPacked):
            return found
        bins = found.bins + ((),) * (gpus - len(found.bins))
        if is_allowed(problem, bins):
            return Packed(bins, found.states)
        spent = found.states
    search = _Search(problem, scale, most_states - spent)
    groups = search.run()
    states = spent + search.states
    if groups is not None:
        return Packed(groups, states)
    return NotPacked(is_proven=search.states < search.most_states, states=states)


def best_fit(problem: SharingProblem, scale: Weighed) -> Groups | None:
    """Each replica, heaviest first, on the GPU where it leaves least room; None if none has room.

    Of equal GPUs the first is taken. Weights are rounded, so whether all fit is to be seen after.
    """
    free = np.array(scale.capacities, dtype=np.float64)
    room = np.array([gpu.room for gpu in problem.gpus], dtype=np.int64)
    most = np.array([gpu.most_weights_bytes for gpu in problem.gpus], dtype=np.int64)
    allowed = {mask: _as_array(mask, len(free)) for mask in {s.gpus for s in problem.sharers}}
    filled = [list[int]() for _ in problem.gpus]
    for item in _heaviest_first(scale):
        sharer, weight = problem.sharers[item], float(scale.weights[item])
        fits = allowed[sharer.gpus] & (free >= weight) & (room > 0)
        fits &= most >= sharer.weights_bytes
        if not fits.any():
            return None
        gpu = int(np.where(fits, free, np.inf).argmin())
        free[gpu] -= weight
        room[gpu] -= 1
        filled[gpu].append(item)
    return tuple(map(tuple, filled))


def _as_array(mask: int, count: int) -> NDArray[np.bool_]:
    return np.array([mask >> gpu & 1 for gpu in range(count)], dtype=np.bool_)


def are_too_many(problem: SharingProblem, scale: Weighed) -> bool:
    """Whether counting alone shows that not all fit: one by itself, or all together."""
    if sum(scale.weights) > sum(max(0, each) for each in scale.capacities):
        return True
    if len(problem.sharers) * len(problem.gpus) > MOST_PAIRS:
        return False
    return any(
        all(
            scale.capacities[gpu] < scale.weights[sharer] or not _may_join(problem, sharer, gpu, [])
            for gpu in range(len(problem.gpus))
        )
        for sharer in range(len(problem.sharers))
    )


def _may_join(problem: SharingProblem, sharer: int, gpu: int, group: list[int]) -> bool:
    at = problem.gpus[gpu]
    fits = problem.sharers[sharer].weights_bytes <= at.most_weights_bytes
    return fits and len(group) < at.room and problem.admits(sharer, gpu)


def _heaviest_first(scale: Weighed) -> list[int]:
    return sorted(range(len(scale.weights)), key=lambda item: (-scale.weights[item], item))


@dataclass(slots=True)
class _Search:
    """A search that seats one replica after the other, the heaviest first, the fullest GPU first.

    GPUs on which as much is left, and that the replicas still to come may be on alike, are one.
    """

    problem: SharingProblem
    scale: Weighed
    most_states: int
    states: int = 0

    def run(self) -> Groups | None:
        """A group for each GPU; None if none was found."""
        order = _heaviest_first(self.scale)
        kinds = self._kinds(order)
        free, groups = list(self.scale.capacities), [list[int]() for _ in self.problem.gpus]
        failed: set[tuple[int, tuple[tuple[int, int, int], ...]]] = set()

        def seat(place: int, left: int) -> bool:
            if place == len(order):
                return True
            if left > sum(max(0, each) for each in free) or self.states >= self.most_states:
                return False
            key = (
                place,
                tuple(
                    sorted(
                        (
                            kinds[place][gpu],
                            free[gpu],
                            self.problem.gpus[gpu].room - len(groups[gpu]),
                        )
                        for gpu in range(len(free))
                    )
                ),
            )
            if key in failed:
                return False
            self.states += 1
            sharer, weight = order[place], self.scale.weights[order[place]]
            tried: set[tuple[int, int, int]] = set()
            for gpu in sorted(range(len(free)), key=lambda gpu: (free[gpu], gpu)):
                room = self.problem.gpus[gpu].room - len(groups[gpu])
                alike = kinds[place][gpu], free[gpu], room
                if free[gpu] < weight or alike in tried:
                    continue
                if not _may_join(self.problem, sharer, gpu, groups[gpu]):
                    continue
                tried.add(alike)
                free[gpu] -= weight
                groups[gpu].append(sharer)
                if seat(place + 1, left - weight):
                    return True
                groups[gpu].pop()
                free[gpu] += weight
            if self.states < self.most_states:
                failed.add(key)
            return False

        return tuple(map(tuple, groups)) if seat(0, sum(self.scale.weights)) else None

    def _kinds(self, order: list[int]) -> list[list[int]]:
        """By place in the order and GPU: which of those still to come may be there, as a number."""
        found: list[list[int]] = []
        after: list[int] = [0] * len(self.problem.gpus)
        numbers: dict[tuple[int, int, bool], int] = {}
        for sharer in reversed(order):
            after = [
                numbers.setdefault(
                    (before, sharer, _may_join(self.problem, sharer, gpu, [])), len(numbers) + 1
                )
                for gpu, before in enumerate(after)
            ]
            found.append(after)
        return found[::-1]
