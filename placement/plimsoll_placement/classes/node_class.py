"""A node class: like nodes, what is free on each, and how many pods of a shape have room."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from plimsoll_placement.model import WHOLE_GPU_MILLI, GpuType, Node, Role, Shape
from plimsoll_placement.state.device_pool import DevicePool, Ints

MOST_SHAPES = 10
"""For each class, room is counted for this many shapes, the largest first."""


@dataclass(frozen=True, slots=True)
class Load:
    """Pods of one shape on one node."""

    row: int
    gpu_type: GpuType
    shape: Shape
    pods: int


@dataclass(frozen=True, slots=True, eq=False)
class NodeClass:
    """Like nodes, by their positions in `Problem.nodes`, and what is free on each.

    `device_pool` has their devices as unmanaged pods leave them; `free_milli`, `cpu`, `memory` and
    `slots` are by node, less what pinned jobs hold; `others` is the most that any of them has of
    other resources.
    """

    node: Node
    device_pool: DevicePool
    rows: Ints
    free_milli: Ints
    cpu: Ints
    memory: Ints
    slots: Ints
    others: Mapping[str, int]

    @property
    def gpu_type(self) -> GpuType:
        """The type of its devices."""
        return self.device_pool.gpu_type

    def granted_milli(self, shape: Shape) -> int | None:
        """What a pod actually takes here; None if it cannot be granted."""
        return self.device_pool.granted_milli(shape.gpu_milli)

    def room(self, shape: Shape) -> Ints:
        """How many pods of a shape each node has room for, pod slots aside."""
        granted = self.granted_milli(shape)
        if not granted:
            return np.zeros(len(self.rows), dtype=np.int64)
        room = self.free_milli // granted
        if self.has_any_fraction:
            room = np.minimum(room, self.device_pool.room(shape.gpu_milli))
        if shape.cpu_millis:
            room = np.minimum(room, self.cpu // shape.cpu_millis)
        if shape.memory_bytes:
            room = np.minimum(room, self.memory // shape.memory_bytes)
        return np.minimum(room, self._others_room(shape)) if shape.others else room

    def _others_room(self, shape: Shape) -> int:
        """For how many pods some node has enough other resources, if all of them are free."""
        return min(self.others.get(name, 0) // amount for name, amount in shape.others)

    @property
    def has_any_fraction(self) -> bool:
        """Whether its devices can be cut anywhere, so that how pods share them matters."""
        return self.device_pool.share_milli == 1

    def admits(self, role: Role) -> bool:
        """Whether pods of a role may run here, room aside."""
        eligible = bool(role.eligible >> int(self.rows[0]) & 1)
        if role.shape.others and not self._others_room(role.shape):
            return False
        return eligible and self.gpu_type in role.yields and bool(self.granted_milli(role.shape))

    def part(self, rows: frozenset[int]) -> "NodeClass":
        """The class cut down to some of its nodes."""
        keep = np.array([int(row) in rows for row in self.rows], dtype=np.bool_)
        device_pool = replace(
            self.device_pool, rows=self.device_pool.rows[keep], free=self.device_pool.free[keep]
        )
        return NodeClass(
            self.node,
            device_pool,
            self.rows[keep],
            self.free_milli[keep],
            self.cpu[keep],
            self.memory[keep],
            self.slots[keep],
            self.others,
        )


def times(node_class: NodeClass, larger: Shape, shape: Shape) -> int:
    """How many pods of a shape fit in the place of one larger pod; 0 if not even one."""
    pairs = ((larger.cpu_millis, shape.cpu_millis), (larger.memory_bytes, shape.memory_bytes))
    most = [has // needs for has, needs in pairs if needs]
    if shape.others:
        others = dict(larger.others)
        most += [others.get(name, 0) // amount for name, amount in shape.others]
    has, needs = node_class.granted_milli(larger) or 0, node_class.granted_milli(shape) or 0
    if node_class.has_any_fraction and needs < WHOLE_GPU_MILLI <= has:
        return min([has // WHOLE_GPU_MILLI * (WHOLE_GPU_MILLI // needs), *most])
    return min([has // needs, *most])


def largest_shapes(shapes: Iterable[Shape]) -> list[Shape]:
    """The shapes whose room is counted; of shapes that differ only in draw, one."""
    alike = {(-s.gpu_milli, -s.cpu_millis, -s.memory_bytes, s.others): s for s in shapes}
    return [alike[size] for size in sorted(alike)[:MOST_SHAPES]]
