"""The throughput of a job that reports only a rate: a stated curve, corrected by measurements.

A user states rates at some sizes on some GPU types; runs measure a few of them, for a while each.
The ratio of the two, in logarithms, is modelled as a sum of parts: one that all sizes share (the
stated unit was off), one for each GPU type, one that grows with the logarithm of the replicas (it
scales better or worse than stated), and one of each size. All have mean 0 and the deviations below
before anything is measured, so their posterior mean (kriging: Matheron, 1963) says what to believe
of every size: of one measured for long, the measurement; of others, what the most similar sizes
say.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from plimsoll_placement.estimate.throughput.noise import Floats

Size = tuple[str, int]
"""A GPU type, and a number of replicas."""

SHARED = 0.5
BY_TYPE = 0.2
BY_GROWTH = 0.15
BY_SIZE = 0.1
"""Standard deviations of the parts of the logarithm of measured over stated rates."""

BY_ASSUMED_TYPE = 0.5
"""The deviation of the part of a type where its stated rate is only assumed: by so much the speeds
of six recorded programs differ from what GPUs' published figures promise."""

NOISE = 0.1
"""The deviation of a rate measured for `NOISE_SECONDS`; it falls with the root of time."""

NOISE_SECONDS = 60.0

FURTHEST = 40.0
"""No rate is believed to be off by more than this, in logarithms: where measurements contradict
each other wildly, what they imply for other sizes would otherwise exceed all bounds."""


@dataclass(frozen=True, slots=True)
class MeasuredRate:
    """Units per second at a size, as the mean over `seconds` seconds; both above 0."""

    gpu_type: str
    replicas: int
    rate: float
    seconds: float


def corrected_rates(
    stated: Mapping[Size, float], measured: Iterable[MeasuredRate], *, by_type: float = BY_TYPE
) -> dict[Size, float]:
    """The rate to expect at each stated size; measurements at other sizes are ignored.

    Several measurements of a size count by their seconds. `by_type` is the deviation of the part of
    each GPU type.
    """
    seen = [each for each in measured if (each.gpu_type, each.replicas) in stated]
    if not seen:
        return dict(stated)
    tried = tuple((each.gpu_type, each.replicas) for each in seen)
    ratios = np.log([each.rate / stated[size] for each, size in zip(seen, tried, strict=True)])
    known = _likeness(tried, tried, by_type) + np.diag(_noise(seen))
    believed = np.linalg.solve(known, ratios)
    sizes = tuple(stated)
    factors = np.exp(np.clip(_likeness(sizes, tried, by_type) @ believed, -FURTHEST, FURTHEST))
    return {size: stated[size] * float(f) for size, f in zip(sizes, factors, strict=True)}


def doubts(
    sizes: Iterable[Size], measured: Iterable[MeasuredRate], *, by_type: float = BY_TYPE
) -> dict[Size, float]:
    """The standard deviation of the logarithm of the rate at each size, given what was measured.

    Without measurements it is that of the model; with many it goes to 0. `by_type` is the deviation
    of the part of each GPU type.
    """
    wanted, seen = tuple(sizes), list(measured)
    tried = tuple((each.gpu_type, each.replicas) for each in seen)
    before = np.diagonal(_likeness(wanted, wanted, by_type))
    if not seen:
        return dict(zip(wanted, np.sqrt(before).tolist(), strict=True))
    across = _likeness(wanted, tried, by_type)
    known = _likeness(tried, tried, by_type) + np.diag(_noise(seen))
    left = before - np.sum(across * np.linalg.solve(known, across.T).T, axis=1)
    return dict(zip(wanted, np.sqrt(np.maximum(left, 0.0)).tolist(), strict=True))


def _noise(measured: Iterable[MeasuredRate]) -> Floats:
    """The variance of each measurement."""
    return NOISE**2 * NOISE_SECONDS / np.array([each.seconds for each in measured])


@lru_cache(2**8)
def _likeness(some: tuple[Size, ...], others: tuple[Size, ...], by_type: float) -> Floats:
    """The covariance of the log ratios at sizes; most jobs have the same few."""
    places = {kind: place for place, kind in enumerate({kind for kind, _ in (*some, *others)})}
    types = _equal([places[kind] for kind, _ in some], [places[kind] for kind, _ in others])
    counts = _equal([count for _, count in some], [count for _, count in others])
    growth = np.outer(_logarithms(some), _logarithms(others))
    return SHARED**2 + by_type**2 * types + BY_GROWTH**2 * growth + BY_SIZE**2 * (types * counts)


def _equal(some: list[int], others: list[int]) -> npt.NDArray[np.float64]:
    return (np.array(some)[:, None] == np.array(others)[None, :]).astype(np.float64)


def _logarithms(sizes: Iterable[Size]) -> Floats:
    return np.log(np.array([count for _, count in sizes], dtype=np.float64))
