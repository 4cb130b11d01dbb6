"""The best mix of a small problem, found by trying all counts; exact, without a solver."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product

from plimsoll_placement.estimate.mix.problem import MixProblem, Model, PoolName

Score = tuple[tuple[Fraction, ...], int]
"""What is left unserved of each priority, the highest first, and the cost in micro-dollars."""


@dataclass(frozen=True, slots=True)
class _Way:
    """So many replicas of each option of a model: their GPUs by pool, cost, what they leave."""

    gpus: dict[PoolName, int]
    microdollars: int
    unserved: Fraction


def best_score(problem: MixProblem) -> Score:
    """The least unserved by priority, then the least cost."""
    ways = [list(_ways(problem, model)) for model in problem.models]
    return min(
        _score(problem, chosen) for chosen in product(*ways) if _is_supplied(problem, chosen)
    )


def way_count(problem: MixProblem) -> int:
    """How many combinations there are to try at the most."""
    count = 1
    for model in problem.models:
        for limit in _limits(problem, model):
            count *= limit + 1
    return count


def most_carried(model: Model, counts: tuple[int, ...]) -> Fraction:
    """The most of the loads of one or two buckets that so many replicas carry."""
    if len(model.loads) == 1:
        carried = sum(o.carries[0] * n for o, n in zip(model.options, counts, strict=True))
        return Fraction(min(model.loads[0], carried))
    first_load, second_load = model.loads
    points = list(_frontier(model, counts))
    most = Fraction(0)
    for (first, second), (first_after, second_after) in pairwise(points):
        for part in (
            _parts(first, first_after, first_load),
            _parts(second, second_after, second_load),
        ):
            x = first + (first_after - first) * part
            y = second + (second_after - second) * part
            most = max(most, min(x, Fraction(first_load)) + min(y, Fraction(second_load)))
    for x, y in points:
        most = max(most, min(x, Fraction(first_load)) + min(y, Fraction(second_load)))
    return most


def _parts(start: Fraction, end: Fraction, limit: int) -> Fraction:
    """How far along an edge the limit is met; its start where it is not."""
    if start == end:
        return Fraction(0)
    return min(Fraction(1), max(Fraction(0), (limit - start) / (end - start)))


def _frontier(model: Model, counts: tuple[int, ...]) -> Iterator[tuple[Fraction, Fraction]]:
    """The corners of what is carried of both: those best at the first turn to it first."""
    options = [(o.carries, n) for o, n in zip(model.options, counts, strict=True)]
    # One that carries nothing of the first bucket never turns to it.
    options.sort(key=lambda each: (each[0][0] == 0, Fraction(each[0][1], each[0][0] or 1)))
    first, second = Fraction(0), Fraction(sum(carries[1] * n for carries, n in options))
    yield first, second
    for carries, count in options:
        first, second = first + carries[0] * count, second - carries[1] * count
        yield first, second
        if carries[0] == 0:
            return


def _limits(problem: MixProblem, model: Model) -> list[int]:
    """More replicas of an option than this are impossible, or of no use."""
    return [
        min(
            problem.supply.get(option.pool, 0) // option.gpus,
            sum(-(-load // c) for load, c in zip(model.loads, option.carries, strict=True) if c),
        )
        for option in model.options
    ]


def _ways(problem: MixProblem, model: Model) -> Iterator[_Way]:
    for counts in product(*(range(limit + 1) for limit in _limits(problem, model))):
        gpus: dict[PoolName, int] = {}
        for option, count in zip(model.options, counts, strict=True):
            gpus[option.pool] = gpus.get(option.pool, 0) + option.gpus * count
        dollars = sum(o.microdollars * n for o, n in zip(model.options, counts, strict=True))
        yield _Way(gpus, dollars, sum(model.loads) - most_carried(model, counts))


def _is_supplied(problem: MixProblem, chosen: tuple[_Way, ...]) -> bool:
    return all(
        sum(way.gpus.get(pool, 0) for way in chosen) <= gpus
        for pool, gpus in problem.supply.items()
    )


def _score(problem: MixProblem, chosen: tuple[_Way, ...]) -> Score:
    left = tuple(
        sum(
            (
                way.unserved
                for model, way in zip(problem.models, chosen, strict=True)
                if model.priority == priority
            ),
            Fraction(0),
        )
        for priority in problem.priorities
    )
    return left, sum(way.microdollars for way in chosen)
