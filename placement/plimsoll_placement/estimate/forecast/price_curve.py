"""The price of capacity that keeps what is unserved within a share, by how prices did in the past.

Most of what is unserved occurs in a few hours, so the past gives the share with an error. The price
keeps the share with one standard error added (the same rule: Breiman, Friedman, Olshen and Stone,
1984).
"""

import math
from dataclasses import dataclass

import numpy as np

from plimsoll_placement.estimate.forecast.history import Floats

PRICES = np.geomspace(0.6, 0.002, 40)
FIRST_PRICE = 0.05
FIRST_PRICE_STEPS = 72.0
"""The price before anything is tried, and how many steps of evidence it counts for."""
_LEAST = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class PriceCurve:
    """The share of the load unserved at each of `PRICES`, at most, and the steps of evidence."""

    unserved: Floats
    steps: float

    def price(self, share: float) -> float:
        """The price at which no more than that share of the load would have been unserved.

        While little has been tried, it is close to what suits most loads.
        """
        if not share > 0:
            raise ValueError(f"a share of {share} cannot be kept")
        # Rises with the price, if only minimally where it is flat, as an inverse needs.
        shares = np.log(np.maximum(self.unserved, _LEAST))[::-1]
        shares = np.maximum.accumulate(shares) + np.arange(len(PRICES)) * _LEAST
        tried = math.exp(np.interp(math.log(share), shares, np.log(PRICES[::-1])))
        believed = self.steps / (self.steps + FIRST_PRICE_STEPS)
        return math.exp(believed * math.log(tried) + (1 - believed) * math.log(FIRST_PRICE))
