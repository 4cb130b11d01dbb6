"""Where room for the missing pods can be made most cheaply: entry by entry, in one domain."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plimsoll_placement.state.device_pool import Ints


@dataclass(frozen=True, slots=True)
class Rooms:
    """By entry: pods that fit, pods that could, the cost of the next, and of each after that.

    `numbers` are the domains, one of which must take all pods.
    """

    have: Ints
    could: Ints
    next_cost: Ints
    later_cost: Ints
    numbers: Ints


def cheapest_extra(rooms: Rooms, pods: int) -> dict[int, int] | None:
    """How many more pods to make room for at which entries, so that one domain takes all.

    None if no domain can; empty if one has room already.
    """
    found = [
        extra
        for number in np.unique(rooms.numbers)
        if (extra := _extra_in(rooms, np.flatnonzero(rooms.numbers == number), pods)) is not None
    ]
    return min(found, key=lambda extra: _cost(rooms, extra), default=None)


def _extra_in(rooms: Rooms, entries: Ints, pods: int) -> dict[int, int] | None:
    missing = pods - int(rooms.have[entries].sum())
    extra: dict[int, int] = {}
    for _, entry in sorted(_steps(rooms, entries, missing)):
        if missing <= 0:
            break
        extra[entry] = extra.get(entry, 0) + 1
        missing -= 1
    return None if missing > 0 else extra


def _steps(rooms: Rooms, entries: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Each single pod that room could be made for, with its cost."""
    for entry in entries.tolist():
        spare = min(int(rooms.could[entry] - rooms.have[entry]), most)
        for place in range(spare):
            yield int(rooms.later_cost[entry] if place else rooms.next_cost[entry]), entry


def _cost(rooms: Rooms, extra: dict[int, int]) -> tuple[int, int]:
    cost = sum(
        int(rooms.next_cost[entry]) + (pods - 1) * int(rooms.later_cost[entry])
        for entry, pods in extra.items()
    )
    return cost, len(extra)
