"""The load to expect, as a distribution, and the capacity that is worth its price."""

import math
from dataclasses import dataclass

import numpy as np

from plimsoll_placement.estimate.forecast.history import Floats

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """Equally likely loads in ascending order, in the unit of the history."""

    loads: Floats

    def quantile(self, share: float) -> float:
        """The load that is not exceeded with this probability."""
        return float(np.quantile(self.loads, share))

    @property
    def median(self) -> float:
        """The load that is equally likely to be exceeded or not."""
        return self.quantile(0.5)

    @property
    def mean(self) -> float:
        """The expected load."""
        return float(self.loads.mean())

    def unserved(self, capacity: float) -> float:
        """The expected load above a capacity."""
        return float(np.maximum(0.0, self.loads - capacity).mean())

    def wanted(self, price: float) -> float:
        """The capacity that is worth its price, if any amount can be had.

        The price of capacity is a share of what it is worth while in use. So more is wanted as long
        as the probability of its being used exceeds that share (the newsvendor's quantile: Arrow,
        Harris and Marschak, 1951).
        """
        return self.quantile(1 - price)

    def replicas(self, price: float, load_per_replica: float) -> int:
        """How many replicas are worth their price: each is expected to be used by more than that.

        Raises ValueError if a replica carries nothing.
        """
        if not load_per_replica > 0:
            raise ValueError(f"a replica that carries {load_per_replica} is none")
        fewer = math.floor(self.wanted(price) / load_per_replica + _ROUNDING)
        carried = fewer * load_per_replica
        used = self.unserved(carried) - self.unserved(carried + load_per_replica)
        return fewer + (used > price * load_per_replica * (1 + _ROUNDING))
