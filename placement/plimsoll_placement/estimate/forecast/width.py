"""How far a forecast may be off: as far as recent ones, and farther where load is volatile."""

from dataclasses import dataclass

import numpy as np

from plimsoll_placement.estimate.forecast.history import Floats
from plimsoll_placement.estimate.forecast.regression import ridge

STRENGTH = 10.0
"""How many steps of evidence the regression needs to be half trusted."""
LEAST = 0.005
LEAST_SHARE = 0.3
"""No forecast is narrower, either absolutely or relative to recent errors."""


@dataclass(frozen=True, slots=True, eq=False)
class Width:
    """The coefficients of `unrest`, of which the first `recent` are for recent errors."""

    coefficients: Floats
    recent: int

    def at(self, rows: Floats) -> Floats:
        """The typical absolute error at each row."""
        return _bounded(rows @ self.coefficients, rows[:, : self.recent].mean(axis=1))


def learned_width(
    rows: Floats, errors: Floats, weights: Floats, *, recent: int
) -> tuple[Width, Floats]:
    """What is learned of absolute errors, and the width at each step learned from the others."""
    of_late = rows[:, :recent].mean(axis=1)
    prior = np.zeros(rows.shape[1])
    prior[:recent] = 1 / recent
    relative, wanted = rows / of_late[:, None], np.abs(errors) / of_late
    strength = np.full(rows.shape[1], STRENGTH)
    found = ridge(relative, wanted, weights, prior=prior, strength=strength).positive()
    widths = _bounded(found.left_out(relative) * of_late, of_late)
    return Width(found.coefficients, recent), widths


def _bounded(widths: Floats, of_late: Floats) -> Floats:
    return np.maximum(np.maximum(widths, LEAST_SHARE * of_late), LEAST)
