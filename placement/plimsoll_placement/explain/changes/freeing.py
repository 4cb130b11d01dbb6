"""The devices to free so that pods fit: the fewest, on as few nodes as needed."""

from dataclasses import dataclass

import numpy as np

from plimsoll_placement.explain.changes.rooms import Rooms, cheapest_extra
from plimsoll_placement.explain.shortage.node_index import NodeIndex
from plimsoll_placement.explain.shortage.shortage import Ask
from plimsoll_placement.model import WHOLE_GPU_MILLI
from plimsoll_placement.state.device_pool import DevicePool, Ints


@dataclass(frozen=True, slots=True)
class Freed:
    """How many devices by row would have `level_milli` free; `missing_milli` more in total."""

    level_milli: int
    devices: dict[int, int]
    missing_milli: int


def freed_gpus(
    device_pool: DevicePool, at: NodeIndex, ask: Ask, beside: Ints, numbers: Ints
) -> Freed | None:
    """The cheapest devices of a pool to free; None if that does not help or is not needed.

    `beside`: pods for which each entry has everything else; `numbers`: the domains, one of which
    must suffice.
    """
    granted = device_pool.granted_milli(ask.shape.gpu_milli)
    if granted is None:
        return None
    level = min(granted, WHOLE_GPU_MILLI)
    mine = at.shares == device_pool.share_milli
    short = _short_devices(device_pool, level)
    most = _most_pods(at, short, granted)
    rooms = Rooms(
        have=at.room,
        could=np.where(mine, np.minimum(most, beside), at.room),
        next_cost=_next_costs(at, short, granted),
        later_cost=np.full_like(at.rows, granted),
        numbers=numbers,
    )
    extra = cheapest_extra(rooms, ask.pods)
    if not extra:
        return None
    devices = {
        int(at.rows[entry]): _devices(at, entry, pods, granted) for entry, pods in extra.items()
    }
    missing = sum(sum(short[row][:count]) for row, count in devices.items())
    return Freed(level, devices, missing)


def _short_devices(device_pool: DevicePool, level: int) -> dict[int, list[int]]:
    """By row, the shortfall of each device that has less free than the level, the least first."""
    return {
        row: sorted(level - milli for milli in free if 0 <= milli < level)
        for row, free in zip(device_pool.rows.tolist(), device_pool.free.tolist(), strict=True)
    }


def _most_pods(at: NodeIndex, short: dict[int, list[int]], granted: int) -> Ints:
    """Pods that would fit if every device had at least the level free."""
    if granted >= WHOLE_GPU_MILLI:
        return at.total
    more = [len(short.get(row, ())) for row in at.rows.tolist()]
    return at.devices + np.array(more, dtype=np.int64)


def _next_costs(at: NodeIndex, short: dict[int, list[int]], granted: int) -> Ints:
    """Milli-GPUs to free for one pod more than fits; whole devices where pods take whole ones."""
    if granted >= WHOLE_GPU_MILLI:
        return np.maximum(0, (at.room + 1) * granted - at.free_milli)
    first = [(short.get(row) or [granted])[0] for row in at.rows.tolist()]
    return np.array(first, dtype=np.int64)


def _devices(at: NodeIndex, entry: int, pods: int, granted: int) -> int:
    """Devices of an entry to free for this many more pods."""
    if granted < WHOLE_GPU_MILLI:
        return pods
    wanted = (int(at.room[entry]) + pods) * granted - int(at.free_milli[entry])
    return max(0, wanted // WHOLE_GPU_MILLI)
