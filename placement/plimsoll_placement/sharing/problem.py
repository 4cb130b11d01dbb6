"""Replicas that share GPUs, frozen: what is to be seated, and what was decided.

The pressure on a GPU is the load of its replicas over the memory that their weights leave free: the
more requests wait for each byte of cache, the longer they wait.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

Groups = tuple[tuple[int, ...], ...]
"""The replicas on each GPU, both by index."""


@dataclass(frozen=True, slots=True)
class Sharer:
    """A replica to be seated: bytes of its weights, its load, and the GPUs that it may be on.

    `gpus` is a bit mask.
    """

    weights_bytes: int
    load: int
    gpus: int


@dataclass(frozen=True, slots=True)
class SharedGpu:
    """What a GPU, or all GPUs of a node, have for replicas beside those that stay.

    `memory_bytes` is what the weights of those leave free, `load` what they are asked for. There is
    room for `room` more replicas, whose weights take `most_weights_bytes` at most.
    """

    memory_bytes: int
    load: int
    room: int
    most_weights_bytes: int


@dataclass(frozen=True)
class SharingProblem:
    """Replicas to be seated on GPUs, each on one."""

    sharers: tuple[Sharer, ...]
    gpus: tuple[SharedGpu, ...]

    @cached_property
    def is_uniform(self) -> bool:
        """Whether every replica may be on any GPU, and all GPUs are alike and vacant."""
        everywhere = (1 << len(self.gpus)) - 1
        return (
            len(set(self.gpus)) == 1
            and not self.gpus[0].load
            and all(each.gpus == everywhere for each in self.sharers)
        )

    def admits(self, sharer: int, gpu: int) -> bool:
        """Whether a replica may be on a GPU, room aside."""
        return bool(self.sharers[sharer].gpus >> gpu & 1)


@dataclass(frozen=True, slots=True)
class Sharing:
    """Which replicas share a GPU, the largest pressure on any, and a bound that none can beat.

    Pressures are in load per byte, over the GPUs that take any of these replicas. `states` is how
    many partial packings were examined.
    """

    groups: Groups
    pressure: Fraction
    bound: Fraction
    states: int


@dataclass(frozen=True, slots=True)
class Unshared:
    """No way to hold all weights in memory was found; there is none if `is_proven`."""

    is_proven: bool
