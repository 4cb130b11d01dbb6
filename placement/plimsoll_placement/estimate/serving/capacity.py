"""How much load a replica carries before requests take longer than their objective allows.

The model is that of a queue with exponential times (M/M/1): a request at utilisation u takes s / (1
- u / m), and any quantile of that time is the same with another s (Kleinrock 1975, section 3.2). So
the reciprocal of a latency falls along a line in u, whose two parameters least squares finds as
load and latency are measured. The prior belief counts as measurements of its own.

Utilisation is load relative to the believed capacity: 1 is exactly as much as was believed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

IDLE_SHARE = 0.2
"""The assumed share of the objective's time that a request takes alone, until measured."""
MOST_CHANGE = 4.0
"""The belief is not assumed to be wrong by more than this factor."""
BELIEF_SECONDS = 600.0
"""For how long contrary measurements are needed before they are half believed."""
STRETCH = 1.3
"""The capacity is not believed to be more than this times the highest load seen carried."""
LEAST_SLOPE = 1e-3
EXTREME = 1e3
"""A latency or utilisation this far from the objective or belief counts as no farther."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """How long requests took at a utilisation, over this many seconds of observation.

    `latency` is in units of the objective: 1 is just within it.
    """

    utilisation: float
    latency: float
    seconds: float


def capacity(measurements: Iterable[Measurement], *, belief_seconds: float) -> float:
    """The utilisation at which requests take exactly as long as the objective allows.

    1 if nothing is measured, and always between 1 / MOST_CHANGE and MOST_CHANGE. `belief_seconds`:
    for how long the belief itself was measured; BELIEF_SECONDS if it was only stated.
    """
    points = [_point(each) for each in measurements if each.latency > 0 and each.seconds > 0]
    if not points:
        return 1.0
    carried = max((point.x for point in points if point.y >= 1.0), default=0.0)
    most = min(max(STRETCH * carried, 1.0), MOST_CHANGE)
    alone, slope = _line([*_belief(points, belief_seconds), *points])
    if slope <= LEAST_SLOPE:
        # Latency does not grow with the load: nothing measured was near the capacity.
        return most
    return min(max((alone - 1.0) / slope, 1 / MOST_CHANGE), most)


@dataclass(frozen=True, slots=True)
class _Point:
    """A reciprocal latency `y` at a utilisation `x`."""

    x: float
    y: float
    weight: float


def _point(measured: Measurement) -> _Point:
    """Errors of a latency are proportional to it, and so are those of its reciprocal."""
    reciprocal = 1 / min(max(measured.latency, 1 / EXTREME), EXTREME)
    utilisation = min(measured.utilisation, EXTREME)
    return _Point(utilisation, reciprocal, measured.seconds / reciprocal**2)


def _belief(points: Sequence[_Point], seconds: float) -> Iterator[_Point]:
    """The belief as if measured: a request alone is quick, one at utilisation 1 just in time.

    A second of it weighs as much as a second of measurement, and no more than one at latency 1.
    """
    measured = sum(point.weight * point.y**2 for point in points)
    weight = min(sum(point.weight for point in points) / measured, 1.0) * seconds / 2
    yield _Point(0.0, 1 / IDLE_SHARE, weight)
    yield _Point(1.0, 1.0, weight)


def _line(points: Sequence[_Point]) -> tuple[float, float]:
    """The reciprocal latency without load, and how much it falls per unit of utilisation."""
    total = sum(p.weight for p in points)
    x = sum(p.weight * p.x for p in points) / total
    y = sum(p.weight * p.y for p in points) / total
    spread = sum(p.weight * (p.x - x) ** 2 for p in points)
    joint = sum(p.weight * (p.x - x) * (p.y - y) for p in points)
    slope = -joint / spread
    return y + slope * x, slope
