"""The price of capacity that keeps what is unserved within a share, by how prices did in the past.

Most of what is unserved occurs in a few hours, so the past gives the price with an error. It is
drawn to what suited other loads as far as there is little evidence (empirical Bayes: Robbins, 1956)
and `account.py` corrects what remains.
"""

import math
from dataclasses import dataclass

import numpy as np

from plimsoll_placement.estimate.forecast.history import Floats

PRICES = np.geomspace(0.6, 0.002, 40)
FIRST_PRICE, FIRST_SHARE, FIRST_POWER = 0.04, 0.005, 0.5
"""The price before anything is tried: the first at that share, and how it grows with the share."""
FIRST_BLOCKS = 6.0
"""How many blocks of evidence the first price counts for."""
YOUNG_TIMES, YOUNG_BLOCKS = 1.8, 4.0
"""How much dearer capacity is at first, and for how many blocks: until a day is known, a rise that
comes every day is a leap like any other, and to be ready for each leap of a first day is dear."""
_LEAST = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class PriceCurve:
    """The share of the load unserved at each of `PRICES`, and how many blocks of hours show it."""

    unserved: Floats
    blocks: float

    def price(self, share: float) -> float:
        """The price at which that share of the load would have been unserved.

        While little has been tried, it is close to what suits most loads. Raises ValueError if the
        share is not positive.
        """
        if not share > 0:
            raise ValueError(f"a share of {share} cannot be kept")
        # Rises with the price, if only minimally where it is flat, as an inverse needs.
        shares = np.log(np.maximum(self.unserved, _LEAST))[::-1]
        shares = np.maximum.accumulate(shares) + np.arange(len(PRICES)) * _LEAST
        tried = math.exp(np.interp(math.log(share), shares, np.log(PRICES[::-1])))
        first = FIRST_PRICE * (share / FIRST_SHARE) ** FIRST_POWER
        believed = self.blocks / (self.blocks + FIRST_BLOCKS)
        drawn = math.exp(believed * math.log(tried) + (1 - believed) * math.log(first))
        young = max(0.0, 1 - self.blocks / YOUNG_BLOCKS)
        return min(drawn * YOUNG_TIMES**young, PRICES[0])
