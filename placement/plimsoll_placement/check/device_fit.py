"""Decide whether a node's devices can serve its pods; a plan names nodes, not devices.

Whole GPUs and equal shares are only counted. Odd fractions of one device are a bin packing problem,
searched largest first into the fullest device: what first-fit-decreasing can pack is found at once,
the rest by backtracking.
"""

from collections.abc import Iterator, Sequence

from plimsoll_placement.model import WHOLE_GPU_MILLI, Devices

MOST_STATES = 20_000
"""The most partial packings to try before giving up; ten odd fractions need few."""

Free = tuple[tuple[int, ...], ...]
"""What is left of each device, ascending, for each group of devices."""


def devices_fit(groups: Sequence[Devices], requested_millis: Sequence[int]) -> bool:
    """Whether devices of one type on one node can serve pods that ask for these milli-GPUs."""
    if len(groups) == 1 and groups[0].share_milli != 1:
        return _shares_fit(groups[0], requested_millis)
    return _packing_exists(groups, sorted(requested_millis, reverse=True))


def _shares_fit(devices: Devices, requested_millis: Sequence[int]) -> bool:
    """Whole GPUs or equal shares: counting is enough."""
    granted = [devices.granted_milli(milli) for milli in requested_millis]
    if None in granted:
        return False
    share = devices.share_milli
    wanted = sum(milli // share for milli in granted if milli is not None)
    return wanted <= sum(free // share for free in devices.free_milli)


def _packing_exists(groups: Sequence[Devices], requested_millis: Sequence[int]) -> bool:
    start: Free = tuple(tuple(sorted(devices.free_milli)) for devices in groups)
    seen: set[tuple[int, Free]] = set()
    open_states = [(0, start)]
    while open_states and len(seen) < MOST_STATES:
        state = open_states.pop()
        if state in seen:
            continue
        seen.add(state)
        done, free = state
        if done == len(requested_millis):
            return True
        if sum(requested_millis[done:]) <= sum(map(sum, free)):
            following = [(done + 1, left) for left in _served(groups, free, requested_millis[done])]
            open_states.extend(reversed(following))
    return False


def _served(groups: Sequence[Devices], free: Free, requested_milli: int) -> Iterator[Free]:
    """What is left after serving one pod, for each distinct way; the fullest device first."""
    for place, devices in enumerate(groups):
        granted = devices.granted_milli(requested_milli)
        if granted is not None:
            for left in _taken(free[place], granted):
                yield (*free[:place], left, *free[place + 1 :])


def _taken(free_milli: tuple[int, ...], granted_milli: int) -> Iterator[tuple[int, ...]]:
    if granted_milli >= WHOLE_GPU_MILLI:
        devices, rest = divmod(granted_milli, WHOLE_GPU_MILLI)
        whole = sum(free >= WHOLE_GPU_MILLI for free in free_milli)
        if not rest and whole >= devices:
            yield (*(0,) * devices, *free_milli[: len(free_milli) - devices])
        return
    for index, free in enumerate(free_milli):
        is_repeated = index > 0 and free_milli[index - 1] == free
        if free >= granted_milli and not is_repeated:
            others = free_milli[:index] + free_milli[index + 1 :]
            yield tuple(sorted((*others, free - granted_milli)))
