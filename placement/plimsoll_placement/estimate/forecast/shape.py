"""The distribution of errors, by how they grow with the load and with the expected width.

Noise grows with both. A client that comes or goes changes the load by as much at night as by day,
and in calm hours as in restless ones. No single form suits all loads, so the quantiles of several
forms are averaged (Vincent, 1912; Lichtendahl, Grushka-Cockayne and Winkler, 2013), and those that
would have predicted the quantiles that capacity depends on better count more (exponential weights:
Littlestone and Warmuth, 1994).
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from plimsoll_placement.estimate.forecast.history import Floats

FORMS: Final = ((0.0, 0.5), (0.5, 0.5), (0.5, 1.0), (1.0, 0.5))
"""The powers of the load and of the width that errors are proportional to."""
TRIED_SHARES: Final = np.array([0.85, 0.9, 0.94, 0.97, 0.985])
"""The quantiles that decide: what is worth its price, and what is unserved, lies there."""
SELECTIVITY = 6.0
"""A form whose loss is greater by the inverse of this share counts less by a factor of e."""
FIRST_ERRORS = (-2.0, -1.0, 0.0, 1.0, 3.0)
FIRST_ERRORS_WEIGHT = 0.5
"""Errors in widths assumed to have been seen before any is, each counting as half a real one."""
VALUES = 500
"""A distribution is this many equally likely values."""
_LEAST = 1e-12
_POWERS: Final = np.array(FORMS)


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Equally likely errors, ascending, one row for each of `FORMS`, and what each form counts.

    `load` and `width` are the typical ones, at which errors of every form are in widths.
    """

    load: float
    width: float
    errors: Floats
    counts: Floats

    def at(self, load: float, width: float) -> Floats:
        """The errors, in the unit of the load, at an expected load and a width."""
        scales = self.scales(np.array([load]), np.array([width]))[:, 0]
        return (self.counts * scales) @ self.errors

    def quantiles(self, shares: Floats, loads: Floats, widths: Floats) -> Floats:
        """The error that is not exceeded with each probability, by row, at each load and width."""
        found = np.quantile(self.errors, shares, axis=1)
        return (found * self.counts) @ self.scales(loads, widths)

    def scales(self, loads: Floats, widths: Floats) -> Floats:
        """What an error of one width is in the unit of the load, by form."""
        relative = np.log(np.array([loads / self.load, widths / self.width]))
        return self.load * self.width * np.exp(_POWERS @ relative)


def learned_shape(errors: Floats, loads: Floats, widths: Floats, weights: Floats) -> Shape:
    """The shape of past errors by expected load and width; NaN where there is none."""
    placed = np.isfinite(loads)
    errors, loads, widths, weights = (each[placed] for each in (errors, loads, widths, weights))
    even = np.full(len(FORMS), 1 / len(FORMS))
    load, width = _typical(loads, weights), _typical(widths, weights)
    shape = Shape(load, width, np.zeros((len(FORMS), 1)), even)
    known = np.isfinite(errors)
    errors, loads, widths, weights = (each[known] for each in (errors, loads, widths, weights))
    scales = shape.scales(loads, widths)
    found = np.array([_equally_likely(errors / scale, weights) for scale in scales])
    return replace(shape, errors=found, counts=_counts(errors, scales, found, weights))


def _counts(errors: Floats, scales: Floats, found: Floats, weights: Floats) -> Floats:
    """What each form counts, by its pinball loss (Koenker and Bassett, 1978)."""
    shares = TRIED_SHARES[:, None]
    losses = np.zeros(len(found))
    for form, quantiles in enumerate(np.quantile(found, TRIED_SHARES, axis=1).T):
        missed = errors - quantiles[:, None] * scales[form]
        losses[form] = (np.maximum(shares * missed, (shares - 1) * missed) @ weights).sum()
    worse = losses / max(float(losses.min()), _LEAST) - 1
    counts = np.exp(-SELECTIVITY * worse)
    return counts / counts.sum()


def _typical(values: Floats, weights: Floats) -> float:
    return float(np.exp(np.average(np.log(values), weights=weights))) if len(values) else 1.0


def _equally_likely(errors: Floats, weights: Floats) -> Floats:
    """Errors in widths, with the first ones."""
    values = np.concatenate([errors, FIRST_ERRORS])
    order = np.argsort(values)
    counted = np.append(weights, np.full(len(FIRST_ERRORS), FIRST_ERRORS_WEIGHT))[order]
    shares = (np.cumsum(counted) - counted / 2) / counted.sum()
    return np.interp((np.arange(VALUES) + 0.5) / VALUES, shares, values[order])
