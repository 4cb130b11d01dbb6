"""How much may be left unserved now? So much that it is the allowed share in the long run.

More where less was unserved of late, and less where more was; over days, since what differs from
hour to hour costs more than it mends.
"""

import math
from dataclasses import dataclass

from plimsoll_placement.estimate.forecast.history import DAY_SECONDS

HALF_LIFE_SECONDS = 7 * DAY_SECONDS
BALANCED_SECONDS = 2 * DAY_SECONDS
"""In what time a difference is to be made up."""
LEAST, MOST = 0.5, 2.0
"""What the share is times that which is allowed, at least and at most."""


@dataclass(frozen=True, slots=True)
class Account:
    """What was unserved, what the load was, and over how many seconds; the past counts less."""

    unserved: float = 0.0
    load: float = 0.0
    seconds: float = 0.0

    def after(self, load: float, capacity: float, step_seconds: float) -> "Account":
        """The account with one step more; a load that is not known is not counted."""
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
