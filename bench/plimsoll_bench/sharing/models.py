"""Models on GPUs of one memory as instances record them; shares no code with the product."""

from dataclasses import dataclass
from fractions import Fraction

Groups = tuple[tuple[str, ...], ...]
"""The models on each GPU."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model with its weights in memory; its load is its request rate over its SLO."""

    name: str
    size_gb: Fraction
    rate: Fraction
    slo: Fraction

    @property
    def load(self) -> Fraction:
        """Its load."""
        return self.rate / self.slo


@dataclass(frozen=True, slots=True)
class Instance:
    """Models with distinct names to put on a number of GPUs."""

    models: tuple[Model, ...]
    gpus: int
    memory_gb: Fraction
