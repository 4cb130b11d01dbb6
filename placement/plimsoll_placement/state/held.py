"""The devices that a pod has, so that they can be given back, and taken again."""

from dataclasses import dataclass

from plimsoll_placement.model import Shape
from plimsoll_placement.state.device_pool import DevicePool


@dataclass(frozen=True, slots=True)
class Held:
    """One pod's devices: which pool, which row of it, which devices.

    No pool where the pod is pinned and its devices, or its node, are no longer there.
    """

    device_pool: DevicePool | None = None
    position: int = 0
    devices: tuple[int, ...] = ()

    def milli(self, shape: Shape) -> int:
        """How much of them a pod of a shape has."""
        return self.device_pool.granted_milli(shape.gpu_milli) or 0 if self.device_pool else 0

    def give_back(self, shape: Shape) -> None:
        """Return the devices to the pool."""
        if self.device_pool:
            self.device_pool.give_back(self.position, shape.gpu_milli, self.devices)

    def take_again(self, shape: Shape) -> None:
        """Take the same devices, which must still be free, once more."""
        if self.device_pool:
            self.device_pool.take_again(self.position, shape.gpu_milli, self.devices)
