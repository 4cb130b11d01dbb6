"""Which option carries which bucket, if a router sends all of a bucket to one of them.

The cheapest mix may split a bucket between options, which takes a router with weights. Here each
bucket goes to the replicas of one option, in whole replicas that share their time between their
buckets.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations

from plimsoll_placement.estimate.mix.problem import Model

Carriers = tuple[int, ...]
"""The index of an option for each bucket."""

MOST_OPTIONS = 3
"""A search begins with up to this many options together; more are added only where cheaper."""


def replicas_of(model: Model, carriers: Carriers) -> Mapping[int, int] | None:
    """How many replicas of each option carry the model so; None if one of them cannot."""
    times: dict[int, Fraction] = {}
    for bucket, option in enumerate(carriers):
        load, carries = model.loads[bucket], model.options[option].carries[bucket]
        if load and not carries:
            return None
        if load:
            times[option] = times.get(option, Fraction()) + Fraction(load, carries)
    return {option: -(-time // 1) for option, time in times.items()}


def cost_of(model: Model, carriers: Carriers) -> int | None:
    """The cost of a model carried so, in micro-dollars per hour; None if impossible."""
    counts = replicas_of(model, carriers)
    if counts is None:
        return None
    return sum(model.options[option].microdollars * n for option, n in counts.items())


def cheapest_carriers(model: Model) -> Carriers | None:
    """The cheapest that a local search finds; None if some bucket has no carrier.

    It never costs more than the cheapest option that carries everything alone. Of several that cost
    the same, the one with the fewest options.
    """
    found = [_improved(model, start) for start in _starts(model)]
    return min(found, key=lambda each: _rank(model, each), default=None)


def _rank(model: Model, carriers: Carriers) -> tuple[float, int, Carriers]:
    cost = cost_of(model, carriers)
    return float("inf") if cost is None else cost, len(set(carriers)), carriers


def _starts(model: Model) -> Iterator[Carriers]:
    """Each bucket where a unit of it is cheapest, of one option, of two or of a few."""
    places = range(len(model.options))
    for count in range(1, min(MOST_OPTIONS, len(model.options)) + 1):
        for some in combinations(places, count):
            start = tuple(
                min(some, key=lambda option: _unit_price(model, option, bucket))
                for bucket in range(len(model.loads))
            )
            if len(set(start)) == count and cost_of(model, start) is not None:
                yield start


def _unit_price(model: Model, option: int, bucket: int) -> float:
    carries = model.options[option].carries[bucket]
    return model.options[option].microdollars / carries if carries else float("inf")


def _improved(model: Model, carriers: Carriers) -> Carriers:
    """Move one bucket after the other as long as that is cheaper."""
    while True:
        best = min(_neighbours(model, carriers), key=lambda each: _rank(model, each))
        if _rank(model, best) >= _rank(model, carriers):
            return carriers
        carriers = best


def _neighbours(model: Model, carriers: Carriers) -> Iterator[Carriers]:
    yield carriers
    for bucket in range(len(carriers)):
        for option in range(len(model.options)):
            yield (*carriers[:bucket], option, *carriers[bucket + 1 :])
