"""Models with their load and the GPUs that may carry it: the problem and its result.

Load is counted in any whole unit that a model keeps to: users, thousandths of a request per second.
It may come in buckets of request sizes. A replica's time is divisible: one that carries 30 of the
first bucket or 10 of the second also carries 15 and 5. Prices are micro-dollars per hour.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NewType

ModelName = NewType("ModelName", str)
PoolName = NewType("PoolName", str)
"""GPUs with one supply and one price: those of a type that are spot, or that are not."""

Loads = tuple[tuple[float, ...], ...]
"""What each option carries of a model's load, by bucket."""

NEGLIGIBLE = 1e-6
"""This share of a load, or of a replica's time, is within rounding error."""


@dataclass(frozen=True, slots=True)
class Option:
    """A way to run a replica; `carries` is its limit within the SLO for each bucket alone."""

    pool: PoolName
    gpus: int
    microdollars: int
    carries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """The load of a model by bucket; if supply is short, a higher priority is served first."""

    name: ModelName
    loads: tuple[int, ...]
    options: tuple[Option, ...]
    priority: int = 0


@dataclass(frozen=True, slots=True)
class MixProblem:
    """Models with distinct names, and how many single GPUs each pool has; none if it is absent."""

    models: tuple[Model, ...]
    supply: Mapping[PoolName, int]

    @property
    def priorities(self) -> tuple[int, ...]:
        """The distinct priorities, highest first."""
        return tuple(sorted({model.priority for model in self.models}, reverse=True))


@dataclass(frozen=True, slots=True)
class Served:
    """The replicas of one model by option, and what each option carries of its load."""

    replicas: tuple[int, ...]
    loads: Loads


@dataclass(frozen=True, slots=True)
class Mix:
    """What is rented for each model, in the problem's order, and how good that is.

    No mix that leaves as little unserved costs less than the bound. `is_least_unserved` says
    whether the unserved load is proven minimal, by priority; it is whenever nothing is unserved.
    """

    served: tuple[Served, ...]
    microdollars: int
    bound_microdollars: int
    is_least_unserved: bool

    @property
    def gap_percent(self) -> float:
        """How much cheaper it could be at most, serving as much; 0 if this is proven optimal."""
        if not self.microdollars:
            return 0.0
        return 100 * (self.microdollars - self.bound_microdollars) / self.microdollars


def cost(problem: MixProblem, served: tuple[Served, ...]) -> int:
    """Micro-dollars per hour."""
    return sum(
        option.microdollars * count
        for model, each in zip(problem.models, served, strict=True)
        for option, count in zip(model.options, each.replicas, strict=True)
    )


def unserved(model: Model, served: Served) -> tuple[float, ...]:
    """What is left of each bucket; nothing where it is negligible."""
    left = (
        load - sum(loads[bucket] for loads in served.loads)
        for bucket, load in enumerate(model.loads)
    )
    return tuple(
        each if each > NEGLIGIBLE * load else 0.0
        for each, load in zip(left, model.loads, strict=True)
    )


def unserved_by_priority(problem: MixProblem, served: tuple[Served, ...]) -> tuple[float, ...]:
    """What is left of all loads of each priority, highest first."""
    return tuple(
        sum(
            sum(unserved(model, each))
            for model, each in zip(problem.models, served, strict=True)
            if model.priority == priority
        )
        for priority in problem.priorities
    )
