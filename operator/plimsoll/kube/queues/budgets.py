"""Rate budgets per key: a burst at once, and a rate per second after that.

The generic cell rate algorithm, as in `pace`: each unit spent advances the time of zero debt by its
share of a second.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Budgets(Generic[K]):
    """The budgets of the last `keys` that spent anything; all others are untouched."""

    def __init__(
        self,
        at_once: int,
        per_second: float,
        *,
        keys: int = 8_192,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._at_once, self._per_second = at_once, per_second
        self._keys, self._clock = keys, clock
        self._free_at: OrderedDict[K, float] = OrderedDict()

    def has_left(self, key: K) -> bool:
        """Whether there is one left to spend."""
        owed = (self._free_at.get(key, 0.0) - self._clock()) * self._per_second
        return owed <= self._at_once - 1

    def spend(self, key: K) -> None:
        """Spend one, whether it is there or not."""
        now = self._clock()
        self._free_at[key] = max(self._free_at.get(key, now), now) + 1 / self._per_second
        self._free_at.move_to_end(key)
        while len(self._free_at) > self._keys:
            self._free_at.popitem(last=False)
