"""How much may be left unserved now to meet the allowed share in the long run.

More if less was unserved recently, and less if more was; within a day, since to correct sooner
costs more than it gains and later leaves the share off for weeks (Gibbs and Candes, 2021, adapt a
quantile by its misses in the same way).
"""

import math
from dataclasses import dataclass

from plimsoll_placement.estimate.forecast.history import DAY_SECONDS

HALF_LIFE_SECONDS = 14 * DAY_SECONDS
BALANCED_SECONDS = 0.7 * DAY_SECONDS
"""The time in which a difference is to be made up."""
AIM = 0.95
"""The part of what is allowed that is aimed at, since leaps take it farther up than down."""
LEAST, MOST = 0.4, 2.0
"""The least and greatest multiple of the allowed share."""


@dataclass(frozen=True, slots=True)
class Account:
    """What was unserved, the load, and over how many seconds; the past counts less."""

    unserved: float = 0.0
    load: float = 0.0
    seconds: float = 0.0

    def after(self, load: float, capacity: float, step_seconds: float) -> "Account":
        """The account with one step more; an unknown load is not counted."""
        if not math.isfinite(load):
            return self
        kept = 0.5 ** (step_seconds / HALF_LIFE_SECONDS)
        return Account(
            unserved=self.unserved * kept + max(0.0, load - capacity),
            load=self.load * kept + load,
            seconds=self.seconds * kept + step_seconds,
        )

    def share(self, allowed: float) -> float:
        """The share to leave unserved from here on."""
        if self.load <= 0:
            return AIM * allowed
        to_come = self.load * BALANCED_SECONDS / self.seconds
        balanced = AIM * allowed + (AIM * allowed * self.load - self.unserved) / to_come
        return min(max(balanced, LEAST * allowed), MOST * allowed)
