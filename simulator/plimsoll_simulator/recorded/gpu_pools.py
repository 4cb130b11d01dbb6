"""What a job can be given: nodes by GPU type, and the sizes that a job may have."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plimsoll_simulator.recorded.timings import Shape


@dataclass(frozen=True, slots=True)
class Pool:
    """Like nodes; `gpu` is the GPU that their recorded type stands for, "" if unknown."""

    gpu_type: str
    nodes: int
    gpus_per_node: int
    gpu: str = ""

    @property
    def gpus(self) -> int:
        """All GPUs."""
        return self.nodes * self.gpus_per_node

    def sizes(self) -> Iterator[Shape]:
        """The shapes that are handed out: a power of two within a node, or whole nodes."""
        size = 1
        while size < self.gpus_per_node:
            yield (size,)
            size *= 2
        for nodes in range(1, self.nodes + 1):
            yield (self.gpus_per_node,) * nodes

    def shape(self, gpus: int) -> Shape:
        """This many GPUs on as few nodes as possible."""
        whole, rest = divmod(gpus, self.gpus_per_node)
        return (self.gpus_per_node,) * whole + ((rest,) if rest else ())


SIA_POOLS = (
    Pool("aws", 6, 4, gpu="t4"),
    Pool("dgx-ext", 2, 8, gpu="a100"),
    Pool("rtx", 3, 8, gpu="rtx-2080-ti"),
)
"""24 T4, 16 A100 and 24 RTX 2080 Ti: the cluster of Sia's evaluation (SOSP 2023)."""


def node_names(pool: Pool) -> tuple[str, ...]:
    """The names of a pool's nodes."""
    return tuple(f"{pool.gpu_type}-{index}" for index in range(pool.nodes))


@dataclass(frozen=True, slots=True)
class Place:
    """What a job holds: a GPU type, and the GPUs on each of some nodes."""

    gpu_type: str
    on: Mapping[str, int]

    @property
    def shape(self) -> Shape:
        """The GPUs on each node, most first."""
        return tuple(sorted(self.on.values(), reverse=True))

    @property
    def gpus(self) -> int:
        """All GPUs."""
        return sum(self.on.values())

    def is_like(self, other: "Place | None") -> bool:
        """Whether it differs from another in its nodes at most."""
        return other is not None and (self.gpu_type, self.shape) == (other.gpu_type, other.shape)
