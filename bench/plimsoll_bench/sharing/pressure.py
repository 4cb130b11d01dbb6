"""The pressure on GPUs, and how a limit on it translates into weights of models.

A GPU with memory M and models of size s and load l is under less pressure than p exactly if the sum
of l + p s is less than p M. So a limit turns the question into bin packing, exactly: all numbers
are scaled to integers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from plimsoll_bench.sharing.shared_models import Model, SharingProblem


@dataclass(frozen=True, slots=True)
class Weighed:
    """The weights of models under a limit, and what a GPU can carry, as integers."""

    weights: tuple[int, ...]
    capacity: int


def weighed(problem: SharingProblem, limit: Fraction) -> Weighed:
    """Weights such that models that fit the capacity have less pressure than the limit."""
    unit = lcm(limit.denominator, *(model.load.denominator for model in problem.models))
    price = int(limit * unit)
    weights = tuple(int(model.load * unit) + price * model.size_bytes for model in problem.models)
    return Weighed(weights, price * problem.memory_bytes - 1)


def pressure(models: Iterable[Model], memory_bytes: int) -> Fraction | None:
    """The load of models over the memory that they leave free; None if they leave none."""
    load, free = Fraction(0), memory_bytes
    for model in models:
        load += model.load
        free -= model.size_bytes
    return load / free if free > 0 else None


def sizes(problem: SharingProblem) -> Weighed:
    """The weights without any limit: models that fit the capacity leave some memory free."""
    weights = tuple(model.size_bytes for model in problem.models)
    return Weighed(weights, problem.memory_bytes - 1)


def fluid_bound(problem: SharingProblem) -> Fraction | None:
    """The pressure if models could be divided at will, or of the worst model alone if that is more.

    None if there is no memory for them all.
    """
    models, memory = problem.models, problem.memory_bytes
    together = pressure(models, memory * problem.gpus)
    alone = [pressure((model,), memory) for model in models]
    known = [each for each in (together, *alone) if each is not None]
    return max(known) if len(known) == len(alone) + 1 else None


def largest(groups: Sequence[Sequence[Model]], memory_bytes: int) -> Fraction:
    """The largest pressure on any GPU; every group must leave some memory free."""
    return max((pressure(g, memory_bytes) or Fraction(0) for g in groups), default=Fraction(0))
