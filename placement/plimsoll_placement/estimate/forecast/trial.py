"""How each price of capacity would have done in the past.

Each past load is forecast by what the loads of other times teach, so that a model is not tried on
what it has seen. Errors are computed between blocks of hours.
"""

from dataclasses import dataclass

import numpy as np

from plimsoll_placement.estimate.forecast.history import Floats
from plimsoll_placement.estimate.forecast.price_curve import PRICES, PriceCurve
from plimsoll_placement.estimate.forecast.shape import Shape

SAFETY = 0.25
"""How many standard errors are added to what would have been unserved."""
_LEAST = 1e-12
_LARGEST = 500.0
"""The logarithm of more than any load."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """Past forecasts, by the logarithm of their centre and their width in it, and the actual loads.

    `loads` is NaN where nothing is known; `weights` says what each step counts, and `floor` is
    added to loads before taking logarithms. What is unserved in steps of one block of `block_steps`
    is assumed to have one cause.
    """

    centres: Floats
    widths: Floats
    loads: Floats
    weights: Floats
    shape: Shape
    floor: float
    block_steps: int = 1

    def unserved(self, unit: float = 0.0) -> Floats:
        """The share of the load that would have been unserved at each of `PRICES`, descending.

        Capacity comes in units of this size; with 0, in any amount.
        """
        missed, loads = self._blocks(unit)
        return missed.sum(axis=1) / max(float(loads.sum()), _LEAST)

    def unserved_and_safety(self, unit: float = 0.0) -> Floats:
        """The same shares with a part of the standard error of a ratio of sums added."""
        missed, loads = self._blocks(unit)
        total, blocks = max(float(loads.sum()), _LEAST), int(np.count_nonzero(loads))
        shares = missed.sum(axis=1) / total
        apart = ((missed - shares[:, None] * loads) ** 2).sum(axis=1)
        return shares + SAFETY * np.sqrt(apart * blocks / max(blocks - 1, 1)) / total

    def curve(self, unit: float = 0.0) -> PriceCurve:
        """What capacity in units of this size would have left unserved at each price, safely."""
        steps = float(self.weights[np.isfinite(self.loads)].sum())
        return PriceCurve(self.unserved_and_safety(unit), steps / self.block_steps)

    def _blocks(self, unit: float) -> tuple[Floats, Floats]:
        """What would have been unserved by price and block, and the load by block."""
        wanted = self._quantiles(1 - PRICES)
        if unit > 0:
            # A replica is used by half or more if the quantile is beyond its middle.
            wanted = np.ceil(wanted / unit - 0.5) * unit
        missed = np.maximum(0.0, self.loads - np.maximum(wanted, 0.0))
        both = np.nan_to_num(np.vstack([missed, self.loads])) * self.weights
        starts = np.arange(0, len(self.loads), self.block_steps, dtype=np.int64)
        summed = np.add.reduceat(both, starts, axis=1) if len(starts) else both
        return summed[:-1], summed[-1]

    def _quantiles(self, shares: Floats) -> Floats:
        """The loads that are not exceeded with these probabilities, by row, at each step."""
        expected = np.exp(np.minimum(self.centres, _LARGEST))
        return expected + self.shape.quantiles(shares, expected, self.widths) - self.floor
