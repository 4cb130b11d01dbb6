"""How much load a replica carries before requests take longer than they are promised.

The model is that of a queue with exponential times (M/M/1): a request at utilisation u takes s / (1
- u / m), and any quantile of that time is the same with another s (Kleinrock 1975, section 3.2). So
the reciprocal of a latency falls along a line in u, two parameters that least squares find as load
and latency are measured. What was believed before counts as measurements of its own.

Utilisation is load by what was believed to be carried: 1 is just as much as was believed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

IDLE_SHARE = 0.2
"""The share of the promised time that a request takes alone, while nothing is known of it."""
MOST_CHANGE = 4.0
"""What was believed is not thought to be wrong by more than this factor."""
BELIEF_SECONDS = 600.0
"""For how long there must be measurements that say otherwise before half of it is believed."""
STRETCH = 1.3
"""No more is believed to be carried than this times what was seen to be carried."""
LEAST_SLOPE = 1e-3
EXTREME = 1e3
"""A latency or utilisation this far from what is promised or believed is as good as any farther."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """How long requests took at a utilisation, for so many seconds of looking.

    `latency` is in units of what is promised: 1 is just within the objective.
    """

    utilisation: float
    latency: float
    seconds: float


def capacity(measurements: Iterable[Measurement], *, belief_seconds: float) -> float:
    """The utilisation at which requests take just as long as is promised.

    1 where nothing is measured, and between 1 / MOST_CHANGE and MOST_CHANGE whatever is.
    `belief_seconds`: for how long what is believed was measured itself; BELIEF_SECONDS where it was
    only stated.
    """
    points = [_point(each) for each in measurements if each.latency > 0 and each.seconds > 0]
    if not points:
        return 1.0
    carried = max((point.x for point in points if point.y >= 1.0), default=0.0)
    most = min(max(STRETCH * carried, 1.0), MOST_CHANGE)
    alone, slope = _line([*_belief(points, belief_seconds), *points])
    if slope <= LEAST_SLOPE:
        # Latency does not grow with the load: nothing measured was near what can be carried.
        return most
    return min(max((alone - 1.0) / slope, 1 / MOST_CHANGE), most)


@dataclass(frozen=True, slots=True)
class _Point:
    """A reciprocal latency `y` at a utilisation `x`."""

    x: float
    y: float
    weight: float


def _point(measured: Measurement) -> _Point:
    """Errors of a latency are in proportion to it, and so are those of its reciprocal."""
    reciprocal = 1 / min(max(measured.latency, 1 / EXTREME), EXTREME)
    utilisation = min(measured.utilisation, EXTREME)
    return _Point(utilisation, reciprocal, measured.seconds / reciprocal**2)


def _belief(points: Sequence[_Point], seconds: float) -> Iterator[_Point]:
    """What is believed, as if it was measured: alone a request is quick, at 1 just in time.

    A second of it weighs what a second of the measurements does, and none more than at 1.
    """
    measured = sum(point.weight * point.y**2 for point in points)
    weight = min(sum(point.weight for point in points) / measured, 1.0) * seconds / 2
    yield _Point(0.0, 1 / IDLE_SHARE, weight)
    yield _Point(1.0, 1.0, weight)


def _line(points: Sequence[_Point]) -> tuple[float, float]:
    """The reciprocal latency without any load, and how much it falls by one of utilisation."""
    total = sum(p.weight for p in points)
    x = sum(p.weight * p.x for p in points) / total
    y = sum(p.weight * p.y for p in points) / total
    spread = sum(p.weight * (p.x - x) ** 2 for p in points)
    joint = sum(p.weight * (p.x - x) * (p.y - y) for p in points)
    slope = -joint / spread
    return y + slope * x, slope
