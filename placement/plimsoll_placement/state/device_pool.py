"""The devices of one GPU type on all nodes: what is free of each, taken and given back."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.model import NO_GPUS, WHOLE_GPU_MILLI, GpuType
from plimsoll_placement.problem import Problem

Ints = NDArray[np.int64]
Positions = Ints | slice
"""Positions in a device pool, or all of them."""
ALL: Final = slice(None)
ENDLESS = 1 << 31
"""Stands for no limit to a number of pods."""


@dataclass(frozen=True, slots=True)
class DevicePool:
    """The devices of one type and share, on all nodes that offer them.

    `rows` are positions in `Problem.nodes`, ascending; `free` is by row and device in milli-GPUs,
    -1 where a node has fewer devices than the widest. `milli` and `whole` follow from it: what is
    free on each row over all its devices, and how many of these are wholly free. `devices` is how
    many each row has, `position` the position of each row.
    """

    gpu_type: GpuType
    share_milli: int
    rows: Ints
    free: Ints
    milli: Ints = field(init=False)
    whole: Ints = field(init=False)
    devices: Ints = field(init=False)
    position: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "milli", np.maximum(self.free, 0).sum(axis=1))
        object.__setattr__(self, "whole", (self.free == WHOLE_GPU_MILLI).sum(axis=1))
        object.__setattr__(self, "devices", (self.free >= 0).sum(axis=1))
        places = {row: place for place, row in enumerate(self.rows.tolist())}
        object.__setattr__(self, "position", places)

    def room(self, requested_milli: int, at: Positions = ALL) -> Ints:
        """How many pods that ask for this much the devices of each row have room for.

        `at`: only these rows.
        """
        granted = self.granted_milli(requested_milli)
        if not granted:
            return np.full(len(self.rows[at]), self._without_devices(granted), dtype=np.int64)
        if granted >= WHOLE_GPU_MILLI:
            return self.whole[at] // (granted // WHOLE_GPU_MILLI)
        return np.maximum(self.free[at] // granted, 0).sum(axis=1)

    def granted_milli(self, requested_milli: int) -> int | None:
        """What a pod actually takes here; None if it cannot be granted (see `Devices`)."""
        if self.share_milli in (1, WHOLE_GPU_MILLI):
            return None if requested_milli % self.share_milli else requested_milli
        return self.share_milli if requested_milli <= self.share_milli else None

    def has(self, position: int, requested_milli: int) -> bool:
        """Whether one row has room for a pod that asks for this much."""
        granted = self.granted_milli(requested_milli)
        if not granted:
            return self._without_devices(granted) > 0
        if granted >= WHOLE_GPU_MILLI:
            return int(self.whole[position]) * WHOLE_GPU_MILLI >= granted
        return bool((self.free[position] >= granted).any())

    def _without_devices(self, granted_milli: int | None) -> int:
        """The room for pods that take no device: none where what they ask for cannot be had."""
        return 0 if granted_milli is None else ENDLESS

    def take(self, position: int, requested_milli: int) -> tuple[int, ...]:
        """Take devices of a row for one pod; a fraction takes the fullest that fits.

        Returns the devices taken.
        """
        granted = self.granted_milli(requested_milli) or 0
        if not granted:
            return ()
        free: list[int] = self.free[position].tolist()
        if granted >= WHOLE_GPU_MILLI:
            whole = [device for device, milli in enumerate(free) if milli == WHOLE_GPU_MILLI]
            devices = tuple(whole[: granted // WHOLE_GPU_MILLI])
        else:
            fullest = min((milli, d) for d, milli in enumerate(free) if milli >= granted)
            devices = (fullest[1],)
        self._give_out(position, devices, -granted)
        return devices

    def give_back(self, position: int, requested_milli: int, devices: tuple[int, ...]) -> None:
        """Undo one `take`."""
        self._give_out(position, devices, self.granted_milli(requested_milli) or 0)

    def take_again(self, position: int, requested_milli: int, devices: tuple[int, ...]) -> None:
        """Undo one `give_back`."""
        self._give_out(position, devices, -(self.granted_milli(requested_milli) or 0))

    def _give_out(self, position: int, devices: tuple[int, ...], milli: int) -> None:
        """Change what is free on some devices of a row by the same amount each, `milli` in all."""
        row, each = self.free[position], milli // max(1, len(devices))
        for device in devices:
            before = int(row[device])
            row[device] = before + each
            self.whole[position] += (before + each == WHOLE_GPU_MILLI) - (before == WHOLE_GPU_MILLI)
        self.milli[position] += milli

    def block(self, position: int) -> None:
        """Let nothing more be taken from a row."""
        self.free[position] = np.minimum(self.free[position], 0)
        self.milli[position] = self.whole[position] = 0


def hosts(problem: Problem) -> DevicePool:
    """All nodes, for pods that take no device."""
    count = len(problem.nodes)
    nothing = np.full((count, 1), -1, dtype=np.int64)
    return DevicePool(NO_GPUS, WHOLE_GPU_MILLI, np.arange(count, dtype=np.int64), nothing)


def device_pools(problem: Problem) -> dict[GpuType, tuple[DevicePool, ...]]:
    """All devices of a problem, by type."""
    found: dict[tuple[GpuType, int], dict[int, tuple[int, ...]]] = defaultdict(dict)
    for row, node in enumerate(problem.nodes):
        for devices in node.devices:
            rows = found[devices.gpu_type, devices.share_milli]
            rows[row] = (*rows.get(row, ()), *devices.free_milli)
    by_type: dict[GpuType, list[DevicePool]] = defaultdict(list)
    for (gpu_type, share), entries in sorted(found.items()):
        by_type[gpu_type].append(_device_pool(gpu_type, share, entries))
    return {gpu_type: tuple(each) for gpu_type, each in by_type.items()}


def _device_pool(gpu_type: GpuType, share: int, entries: dict[int, tuple[int, ...]]) -> DevicePool:
    width = max(len(free) for free in entries.values())
    table = np.full((len(entries), width), -1, dtype=np.int64)
    for position, free in enumerate(entries.values()):
        table[position, : len(free)] = free
    return DevicePool(gpu_type, share, np.array(list(entries), dtype=np.int64), table)
