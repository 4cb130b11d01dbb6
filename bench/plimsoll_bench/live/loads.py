"""The loads of a service: parts of equal length, the last of which is without Prometheus."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from plimsoll_bench.live.service import Rate

OUTAGE: Final = "prometheus_away"


@dataclass(frozen=True, slots=True)
class Part:
    """A kind of load: requests per second at a moment of it from 0 to 1."""

    name: str
    rate: Rate


def _through(*points: tuple[float, float]) -> Rate:
    """A piecewise linear rate through points of moments and rates."""
    moments, rates = zip(*points, strict=True)
    return lambda at: float(np.interp(at, moments, rates))


def _wave(mean: float, height: float) -> Rate:
    """Two days, one after the other."""
    return lambda at: mean + height * math.sin(4 * math.pi * at)


PARTS: Final = (
    Part("start", _through((0, 40))),
    Part("step", _through((0, 120))),
    Part("ramp", _through((0, 120), (0.5, 30), (1, 150))),
    Part("spike", _through((0, 40), (0.4, 40), (0.401, 170), (0.65, 170), (0.651, 40))),
    Part("wave", _wave(90, 60)),
    Part("calm_then_leap", _through((0, 20), (0.65, 20), (0.651, 140))),
    Part("to_zero", _through((0, 20), (0.1, 20), (0.101, 0))),
    Part("from_zero", _through((0, 0), (0.1, 0), (0.101, 40))),
    Part(OUTAGE, _wave(90, 10)),
)


def rate_of_parts(seconds: float) -> Rate:
    """The requests per second, if each part lasts so long."""

    def rate(at: float) -> float:
        index = min(int(at / seconds), len(PARTS) - 1)
        return PARTS[index].rate(at / seconds - index)

    return rate
