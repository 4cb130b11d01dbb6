"""How much load a replica carries before requests take longer than their objective allows.

The model is that of a queue with exponential times (M/M/1): a request at utilisation u takes s / (1
- u / m), and any quantile of that time is the same with another s (Kleinrock 1975, section 3.2).
The time per token of a batch that grows by the same for each request in it is of this form too. Of
a grid of both parameters the pair is taken that fits best what was measured and what is believed.
Errors are those of the logarithm, and those of a few looks count little: requests that waited
behind an earlier load say nothing about the present one.

Utilisation is what replicas served relative to the believed capacity: 1 is exactly as much as was
believed. What they were offered would not do: a queue that grows is far beyond any line.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

IDLE_SHARE = 0.2
"""The assumed share of the objective's time that a request takes alone, until measured."""
IDLE_ERROR = 0.7
CAPACITY_ERROR = 0.6
LATENCY_ERROR = 0.2
"""How far off each may be, as a logarithm: what was believed of it, and what is measured."""
OUTLIER = 1.5
"""From how many times the error on a measurement is an outlier."""
IDLE_BELIEF = 0.1
"""How much that is believed beside the capacity: it says little about an engine."""
MOST_CHANGE = 4.0
"""The belief is not assumed to be wrong by more than this factor."""
BELIEF_SECONDS = 600.0
"""For how long contrary measurements are needed before they are half believed."""
STRETCH = 1.3
"""The capacity is not believed to be more than this times the highest load seen carried."""
IN_TIME_SHARE = 0.9
CARRIED_SECONDS = 300.0
"""A load is carried if at least this long this share of looks at it, or at more, was in time."""
FASTEST, SLOWEST = 1 / 50, 4.0
"""A latency this far from the objective counts as no farther."""
MOST_UTILISATION = 1e3
HALF_LIFE_SECONDS = 7200.0
"""A measurement counts half after so long: requests change."""
STEPS_TO_DOUBLE: Final = 16
"""The steps of the grid, and those in which measurements are put together."""

_CAPACITIES: Final[Floats] = 2.0 ** (np.arange(-32, 33) / STEPS_TO_DOUBLE)
_IDLE: Final[Floats] = np.geomspace(FASTEST, 0.8, 64)


@dataclass(frozen=True, slots=True)
class Measurement:
    """How long requests took at a utilisation, over this many seconds of observation.

    `low` and `high` are between which the latency lies, in units of the objective: 1 is just within
    it. Histograms have wide buckets.
    """

    utilisation: float
    low: float
    high: float
    seconds: float


def capacity(measurements: Sequence[Measurement], *, belief_seconds: float) -> float:
    """The utilisation at which requests take exactly as long as the objective allows.

    `measurements` are in the order of time. 1 if nothing is measured, and always between
    1 / MOST_CHANGE and MOST_CHANGE. `belief_seconds`: for how long the belief itself was measured;
    BELIEF_SECONDS if it was only stated.
    """
    points = _points(measurements)
    if not len(points.seconds):
        return 1.0
    in_time = points.utilisation[points.high <= 1.0]
    most = min(max(STRETCH * float(in_time.max(initial=0.0)), 1.0), MOST_CHANGE)
    least = min(max(_carried(points), 1 / MOST_CHANGE), most)
    best = _CAPACITIES[int(np.argmin(_losses(points, belief_seconds).min(axis=1)))]
    return float(min(max(best, least), most))


def carried(measurements: Sequence[Measurement]) -> float:
    """The highest utilisation that was carried in time for minutes; 0 if none was."""
    return _carried(_points(measurements))


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """Measurements that say anything, those alike put together."""

    utilisation: Floats
    low: Floats
    high: Floats
    seconds: Floats


def _points(measurements: Sequence[Measurement]) -> _Points:
    rows = [(m.utilisation, m.low, m.high, m.seconds) for m in measurements]
    x, low, high, seconds = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    age = np.cumsum(seconds[::-1])[::-1] - seconds
    told = (high > 0) & (seconds > 0) & (x > 0)
    seconds = (seconds * 0.5 ** (age / HALF_LIFE_SECONDS))[told]
    x = np.clip(x[told], 1 / MOST_UTILISATION, MOST_UTILISATION)
    low, high = (np.clip(each[told], FASTEST, SLOWEST) for each in (low, high))
    _, first, where = np.unique(
        np.stack([_steps(x), _steps(low), _steps(high)]),
        axis=1,
        return_index=True,
        return_inverse=True,
    )
    weights = np.bincount(where.ravel(), seconds).astype(np.float64)
    return _Points(x[first], low[first], high[first], weights)


def _steps(values: Floats) -> Floats:
    """Steps of 4 %, of which one ends at 1."""
    return np.asarray(np.ceil(np.log2(values) * STEPS_TO_DOUBLE - 1e-9))


def _losses(points: _Points, belief_seconds: float) -> Floats:
    """How badly each capacity, by row, and time alone, by column, fits."""
    slope, intercept = (1 / _IDLE - 1)[:, None], (1 / _IDLE)[:, None]
    low, high = np.log(points.low), np.log(points.high)
    measured = np.empty((len(_CAPACITIES), len(_IDLE)))
    # Capacity by capacity, so that what is computed stays in the processor's cache.
    for row, share in enumerate(points.utilisation / _CAPACITIES[:, None]):
        latency = -np.log(np.maximum(intercept - slope * share, 1 / SLOWEST))
        errors = np.maximum(np.maximum(low - latency, latency - high), 0.0) / LATENCY_ERROR
        # Huber's loss: an outlier counts by its distance, not by its square.
        near = np.minimum(errors, OUTLIER)
        measured[row] = (near * (2 * errors - near)) @ points.seconds
    capacity_error = np.log(_CAPACITIES)[:, None] / CAPACITY_ERROR
    idle_error = np.log(_IDLE / IDLE_SHARE)[None, :] / IDLE_ERROR
    return measured + belief_seconds * (capacity_error**2 + IDLE_BELIEF * idle_error**2)


def _carried(points: _Points) -> float:
    """The highest utilisation that was carried in time, as far as was seen; 0 if none was."""
    order = np.argsort(-points.utilisation, kind="stable")
    seconds = points.seconds[order]
    total = np.cumsum(seconds)
    in_time = np.cumsum(np.where(points.high[order] <= 1.0, seconds, 0.0))
    carried = (total >= CARRIED_SECONDS) & (in_time >= IN_TIME_SHARE * total)
    return float(points.utilisation[order][carried].max(initial=0.0))
