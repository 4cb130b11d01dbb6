"""Ridge regression in which each part of the time is also predicted from all the others.

Such a prediction errs as much as it would on unseen data, so it shows what is worth learning and
how wide a forecast has to be (cross-validation: Stone, 1974; stacking: Breiman, 1996).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from plimsoll_placement.estimate.forecast.history import Floats

PARTS = 7
_LEAST_STRENGTH = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """The coefficients learned from all rows, and for each part those learned from all others."""

    coefficients: Floats
    by_others: Floats

    def left_out(self, rows: Floats) -> Floats:
        """What the rows of other times predict for each row."""
        parts = zip(_parts(len(rows)), self.by_others, strict=True)
        return np.concatenate([rows[part] @ coefficients for part, coefficients in parts])

    def positive(self) -> "Regression":
        """The same without negative coefficients."""
        return Regression(np.maximum(self.coefficients, 0), np.maximum(self.by_others, 0))


def ridge(
    rows: Floats, targets: Floats, weights: Floats, *, prior: Floats, strength: Floats
) -> Regression:
    """The regression of targets on rows, shrunk towards a prior.

    A row whose target is NaN teaches nothing. The strength of the prior, by coefficient, is in rows
    as large as the typical target.
    """
    known = np.isfinite(targets)
    wanted, weight = np.where(known, targets, 0.0), np.where(known, weights, 0.0)
    weighted, parts = rows * weight[:, None], _parts(len(rows))
    grams = np.array([rows[part].T @ weighted[part] for part in parts])
    moments = np.array([weighted[part].T @ wanted[part] for part in parts])
    typical = float(weight @ wanted**2) / max(float(weight.sum()), 1.0)
    drawn = np.maximum(strength * typical, _LEAST_STRENGTH)
    left = np.concatenate([grams.sum(0) - grams, grams.sum(0)[None]]) + np.diag(drawn)
    right = np.concatenate([moments.sum(0) - moments, moments.sum(0)[None]]) + drawn * prior
    solved: Floats = np.linalg.solve(left, right[:, :, None])[:, :, 0].astype(np.float64)
    return Regression(solved[-1], solved[:-1])


def share_of_second(first: Floats, second: Floats, targets: Floats, weights: Floats) -> float:
    """The best share of the second prediction in a mix with the first, from 0 to 1."""
    differ, wanted = second - first, targets - first
    known = np.isfinite(wanted)
    size = float(weights[known] @ differ[known] ** 2)
    if size <= 0:
        return 0.0
    return float(np.clip(weights[known] @ (differ * wanted)[known] / size, 0, 1))


def _parts(rows: int) -> list[slice]:
    edges = np.linspace(0, rows, PARTS + 1).astype(int)
    return [slice(first, end) for first, end in pairwise(edges)]
