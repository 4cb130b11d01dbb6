"""The nodes that offer a GPU type, as arrays: what of a role's pods each could hold, and why not.

One entry per node and way in which its devices are handed out, over all nodes, whether or not the
role may run on them.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.model import WHOLE_GPU_MILLI, GpuType, Role, Shape
from plimsoll_placement.state.device_pool import DevicePool, Ints
from plimsoll_placement.state.ledger import Ledger

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class NodeIndex:
    """By entry: the node's row, pods that fit on the devices and beside them, what is free.

    `grants`: whether its devices are handed out in parts, or as whole ones, of the size asked for.
    """

    rows: Ints
    shares: Ints
    grants: Bools
    devices: Ints
    others: Ints
    free_milli: Ints
    total: Ints
    eligible: Bools
    open: Bools
    spot: Bools

    def where(self, keep: Bools) -> "NodeIndex":
        """Only the entries to keep."""
        return replace(
            self,
            rows=self.rows[keep],
            shares=self.shares[keep],
            grants=self.grants[keep],
            devices=self.devices[keep],
            others=self.others[keep],
            free_milli=self.free_milli[keep],
            total=self.total[keep],
            eligible=self.eligible[keep],
            open=self.open[keep],
            spot=self.spot[keep],
        )

    def usable(self, *, spot: bool) -> "NodeIndex":
        """Only where pods may start; `spot`: whether spot nodes count, too."""
        keep = self.eligible & self.open
        return self.where(keep if spot else keep & ~self.spot)

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        is_rising = bool((np.diff(self.rows) > 0).all())
        return len(self.rows) if is_rising else len(np.unique(self.rows))

    @property
    def room(self) -> Ints:
        """Pods that each entry has room for, power and spot shares aside."""
        return np.minimum(self.devices, self.others)


def node_index(ledger: Ledger, role: Role, gpu_type: GpuType) -> NodeIndex:
    """All nodes that offer a type, as a role sees them."""
    device_pools, shape = ledger.pools_of(gpu_type), role.shape
    rows = _joined([device_pool.rows for device_pool in device_pools])
    return NodeIndex(
        rows=rows,
        shares=_joined(
            [
                np.full_like(device_pool.rows, device_pool.share_milli)
                for device_pool in device_pools
            ]
        ),
        grants=_joined(
            [_grants(device_pool, shape.gpu_milli) for device_pool in device_pools]
        ).astype(np.bool_),
        devices=_joined([device_pool.room(shape.gpu_milli) for device_pool in device_pools]),
        others=others_room(ledger, rows, shape),
        free_milli=_joined(
            [_most_free(device_pool, shape.gpu_milli) for device_pool in device_pools]
        ),
        total=_joined([_total_pods(device_pool, shape.gpu_milli) for device_pool in device_pools]),
        eligible=ledger.eligible(role.eligible)[rows],
        open=ledger.open[rows],
        spot=ledger.spot[rows],
    )


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def others_room(ledger: Ledger, rows: Ints, shape: Shape) -> Ints:
    """Pods for which each of these rows has all that they take besides GPUs."""
    return np.maximum(ledger.room_beside_devices(rows, shape), 0)


def _grants(device_pool: DevicePool, requested_milli: int) -> Ints:
    return np.full_like(device_pool.rows, device_pool.granted_milli(requested_milli) is not None)


def _most_free(device_pool: DevicePool, requested_milli: int) -> Ints:
    """Free whole devices together, or for a fraction the most that is free of one device."""
    granted = device_pool.granted_milli(requested_milli)
    if granted is None:
        return np.zeros(len(device_pool.rows), dtype=np.int64)
    if not granted:
        return np.full(len(device_pool.rows), WHOLE_GPU_MILLI, dtype=np.int64)
    if granted >= WHOLE_GPU_MILLI:
        return device_pool.whole * WHOLE_GPU_MILLI
    return device_pool.free.max(axis=1, initial=0)


def _total_pods(device_pool: DevicePool, requested_milli: int) -> Ints:
    """The pods that the devices would have room for if all of them were free."""
    granted = device_pool.granted_milli(requested_milli)
    if granted is None:
        return np.zeros_like(device_pool.devices)
    if not granted:
        return device_pool.room(requested_milli)
    if granted >= WHOLE_GPU_MILLI:
        return device_pool.devices // (granted // WHOLE_GPU_MILLI)
    return device_pool.devices * (WHOLE_GPU_MILLI // granted)
