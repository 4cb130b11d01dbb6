"""SLO attainment and latency quantiles from Prometheus histograms.

Requests are assumed to be spread evenly within a bucket, as in `histogram_quantile`. Those above
the highest bound count as missing every objective, and as taking no less than that bound.
"""

import math
from collections.abc import Iterable
from itertools import accumulate

Histogram = tuple[tuple[float, float], ...]
"""Ascending upper bounds, each with the rate of requests that took no longer; the last is +Inf."""


def histogram(buckets: Iterable[tuple[str, float]], unit: float = 1.0) -> Histogram | None:
    """A histogram in seconds from `le` labels in this unit and their rates; None if it is empty.

    Pods are not scraped at the same moment, so a higher bound may seem to have less.
    """
    sums: dict[float, float] = {}
    for le, rate in buckets:
        bound = _number(le) * unit
        if not math.isnan(bound):
            sums[bound] = sums.get(bound, 0.0) + rate
    bounds = sorted(sums)
    rising = tuple(accumulate((sums[bound] for bound in bounds), max))
    if not bounds or bounds[-1] != math.inf or rising[-1] <= 0:
        return None
    return tuple(zip(bounds, rising, strict=True))


def share_within(found: Histogram, seconds: float) -> float:
    """The share of requests, from 0 to 1, that took no longer than this."""
    below, count = 0.0, 0.0
    for bound, rate in found:
        if bound > seconds:
            if math.isfinite(bound):
                count += (rate - count) * (seconds - below) / (bound - below)
            break
        below, count = bound, rate
    return min(max(count / found[-1][1], 0.0), 1.0)


def share_beyond(found: Histogram, seconds: float) -> float:
    """The share of requests that surely took longer: those in buckets wholly beyond this."""
    for bound, rate in found:
        if bound >= seconds:
            return 1.0 - rate / found[-1][1]
    return 0.0


def quantile(found: Histogram, share: float) -> float:
    """The seconds within which this share of requests stays."""
    wanted, below, count = share * found[-1][1], 0.0, 0.0
    for bound, rate in found:
        if rate >= wanted and math.isfinite(bound):
            part = (wanted - count) / (rate - count) if rate > count else 1.0
            return below + (bound - below) * part
        if math.isfinite(bound):
            below, count = max(bound, 0.0), rate
    return below


def _number(le: str) -> float:
    try:
        return float(le)
    except ValueError:
        return math.nan
