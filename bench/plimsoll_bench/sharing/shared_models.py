"""Models that share GPUs, frozen: what is to be placed, and what was decided.

The pressure on a GPU is the load of its models over the memory that they leave free: the more
requests wait for each byte of cache, the longer they wait.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import NewType

ModelName = NewType("ModelName", str)

Groups = tuple[tuple[ModelName, ...], ...]
"""The models on each GPU; a GPU without models has an empty group or none."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model with its weights in memory; `load` is its request rate over its SLO."""

    name: ModelName
    size_bytes: int
    load: Fraction


@dataclass(frozen=True, slots=True)
class SharingProblem:
    """Models with distinct names to put on a number of GPUs of the same memory."""

    models: tuple[Model, ...]
    gpus: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Sharing:
    """Which models share a GPU, the largest pressure on any, and a bound that none can beat.

    Pressures are in load per byte. `states` is how many partial packings were examined.
    """

    groups: Groups
    pressure: Fraction
    bound: Fraction
    states: int

    @property
    def gap_percent(self) -> float:
        """How much less the largest pressure could be at most; 0 if this is proven best."""
        if not self.pressure:
            return 0.0
        return float(100 * (self.pressure - self.bound) / self.pressure)


@dataclass(frozen=True, slots=True)
class Unshared:
    """No way to hold all models in memory was found; there is none if `is_proven`."""

    is_proven: bool
