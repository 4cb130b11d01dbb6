"""The distribution of errors divided by their width, as seen at similar widths.

A calm load that jumps does so by many times its width; a volatile one does not.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plimsoll_placement.estimate.forecast.history import Floats

Ints = npt.NDArray[np.int64]

FIRST_ERRORS = (-2.0, -1.0, 0.0, 1.0, 3.0)
FIRST_ERRORS_WEIGHT = 0.5
"""Errors in widths assumed to have been seen before any is, each counting as half a real one."""
LIKENESS = 1.0
"""The bandwidth of what is similar, in the logarithm of the width (Nadaraya and Watson, 1964)."""
PLACES = 7
"""Distributions are kept for this many widths and interpolated in between."""
VALUES = 500
"""A distribution is this many equally likely values."""
_LEAST_STEP = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Equally likely errors in widths, ascending, one row for each of some log widths."""

    places: Floats
    errors: Floats

    def at(self, width: float) -> Floats:
        """The errors at a width."""
        low, high, share = self._between(np.log(np.array([width])))
        return ((1 - share) * self.errors[low] + share * self.errors[high])[0]

    def quantiles(self, shares: Floats, widths: Floats) -> Floats:
        """The error that is not exceeded with each probability, by row, at each width."""
        found = np.quantile(self.errors, shares, axis=1)
        low, high, share = self._between(np.log(widths))
        return (1 - share[:, 0]) * found[:, low] + share[:, 0] * found[:, high]

    def _between(self, logs: Floats) -> tuple[Ints, Ints, Floats]:
        """The neighbouring positions, and each value's fraction of the way up, as a column."""
        where = np.interp(logs, self.places, np.arange(len(self.places), dtype=np.float64))
        low = np.floor(where).astype(np.int64)
        high = np.minimum(low + 1, len(self.places) - 1)
        return low, high, (where - low)[:, None]


def learned_shape(errors: Floats, widths: Floats, weights: Floats) -> Shape:
    """The shape of past errors, which are in widths; NaN means none."""
    known = np.isfinite(errors)
    errors, weights, logs = errors[known], weights[known], np.log(widths[known])
    places = _places(logs)
    values = np.concatenate([errors, FIRST_ERRORS])
    order = np.argsort(values)
    first = np.full(len(FIRST_ERRORS), FIRST_ERRORS_WEIGHT)
    rows: list[Floats] = []
    for place in places:
        alike = weights * np.exp(-0.5 * ((logs - place) / LIKENESS) ** 2)
        rows.append(_equally_likely(values[order], np.append(alike, first)[order]))
    return Shape(places, np.array(rows))


def _places(logs: Floats) -> Floats:
    """From the narrowest to the widest; ascending even if all are the same."""
    if not len(logs):
        return np.zeros(1)
    steps = np.arange(PLACES, dtype=np.float64)
    return logs.min() + steps * max(float(np.ptp(logs)) / (PLACES - 1), _LEAST_STEP)


def _equally_likely(values: Floats, weights: Floats) -> Floats:
    shares = (np.cumsum(weights) - weights / 2) / weights.sum()
    return np.interp((np.arange(VALUES) + 0.5) / VALUES, shares, values)
