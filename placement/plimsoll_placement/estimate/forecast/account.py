"""How much may be left unserved now to meet the allowed share in the long run.

More if less was unserved recently, and less if more was; over days, since correcting what differs
from hour to hour costs more than it gains.
"""

import math
from dataclasses import dataclass

from plimsoll_placement.estimate.forecast.history import DAY_SECONDS

HALF_LIFE_SECONDS = 7 * DAY_SECONDS
BALANCED_SECONDS = 2 * DAY_SECONDS
"""The time in which a difference is to be made up."""
LEAST, MOST = 0.5, 2.0
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
            return allowed
        to_come = self.load * BALANCED_SECONDS / self.seconds
        balanced = allowed + (allowed * self.load - self.unserved) / to_come
        return min(max(balanced, LEAST * allowed), MOST * allowed)
