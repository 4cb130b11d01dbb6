"""The price of capacity that keeps what is unserved within a share, by how prices did in the past.

Most of what is unserved occurs in a few hours, so the past gives the share with an error. The price
keeps the share with one standard error added, computed between blocks of hours (the same rule:
Breiman, Friedman, Olshen and Stone, 1984). Each past load is forecast by what the loads of other
times teach, so that a model is not tried on what it has seen.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from plimsoll_placement.estimate.forecast.history import Floats
from plimsoll_placement.estimate.forecast.shape import Shape, learned_shape

PRICES = np.geomspace(0.6, 0.002, 40)
FIRST_PRICE = 0.05
FIRST_PRICE_STEPS = 72.0
"""The price before anything is tried, and how many steps of evidence it counts for."""
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

    def with_widths(self, widths: Floats) -> "Trial":
        """The same forecasts with other widths, and errors of the shape that belongs to them."""
        errors = np.log(self.loads + self.floor) - self.centres
        shape = learned_shape(errors / widths, widths, self.weights)
        return replace(self, widths=widths, shape=shape)

    def loss(self, share: float) -> float:
        """How badly a quantile predicts the loads, in their unit.

        The pinball loss (Koenker and Bassett, 1978), weighted.
        """
        missed = np.nan_to_num(self.loads - self._quantiles(np.array([share]))[0])
        return float(np.maximum(share * missed, (share - 1) * missed) @ self.weights)

    def unserved(self, unit: float = 0.0) -> Floats:
        """The share of the load that would have been unserved at each of `PRICES`, descending.

        Capacity comes in units of this size; with 0, in any amount.
        """
        missed, loads = self._blocks(unit)
        return missed.sum(axis=1) / max(float(loads.sum()), _LEAST)

    def unserved_at_most(self, unit: float = 0.0) -> Floats:
        """The same shares, each with the standard error of a ratio of sums added."""
        missed, loads = self._blocks(unit)
        total, blocks = max(float(loads.sum()), _LEAST), int(np.count_nonzero(loads))
        shares = missed.sum(axis=1) / total
        apart = ((missed - shares[:, None] * loads) ** 2).sum(axis=1)
        return shares + np.sqrt(apart * blocks / max(blocks - 1, 1)) / total

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
        moves = self.shape.quantiles(shares, self.widths) * self.widths
        return np.exp(np.minimum(self.centres + moves, _LARGEST)) - self.floor

    def price(self, share: float, unit: float = 0.0) -> float:
        """The price at which no more than that share of the load would have been unserved.

        While little has been tried, it is close to what suits most loads.
        """
        if not share > 0:
            raise ValueError(f"a share of {share} cannot be kept")
        # Rises with the price, if only minimally where it is flat, as an inverse needs.
        shares = np.log(np.maximum(self.unserved_at_most(unit), _LEAST))[::-1]
        shares = np.maximum.accumulate(shares) + np.arange(len(PRICES)) * _LEAST
        tried = math.exp(np.interp(math.log(share), shares, np.log(PRICES[::-1])))
        steps = float(self.weights[np.isfinite(self.loads)].sum())
        believed = steps / (steps + FIRST_PRICE_STEPS)
        return math.exp(believed * math.log(tried) + (1 - believed) * math.log(FIRST_PRICE))
