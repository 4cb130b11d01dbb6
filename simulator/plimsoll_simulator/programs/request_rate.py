"""How many requests come per second, over time, as recorded."""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise


@dataclass(frozen=True, slots=True)
class RequestRate:
    """Requests per second: a rate between each two of ascending `times`, none before and after.

    Seconds count from the simulation's beginning; what is before is known to Prometheus.
    """

    times: Sequence[float]
    rates: Sequence[float]
    _come: Sequence[float] = field(init=False, repr=False, compare=False)
    """The requests that have come by each of the times but the last."""

    def __post_init__(self) -> None:
        """Add up the requests. Raises ValueError."""
        if len(self.times) != len(self.rates) + 1:
            raise ValueError("times must be one more than rates")
        if not all(before < after for before, after in pairwise(self.times)):
            raise ValueError("times must ascend")
        if not all(0 <= rate < math.inf for rate in self.rates):
            raise ValueError("rates must be numbers of 0 or more")
        spans = zip(self.rates, pairwise(self.times[:-1]), strict=False)
        counts = (rate * (after - before) for rate, (before, after) in spans)
        object.__setattr__(self, "_come", [*accumulate(counts, initial=0.0)])

    def mean(self, begins: float, ends: float) -> float:
        """The mean rate between two times."""
        return (self._by(ends) - self._by(begins)) / (ends - begins)

    def spans(self, begins: float, ends: float) -> Iterator[tuple[float, float]]:
        """The time between two times in parts of one rate: how long each is, and the rate."""
        at, place = begins, bisect_right(self.times, begins)
        while at < ends:
            until = min(ends, self.times[place]) if place < len(self.times) else ends
            yield until - at, self._rate(place)
            at, place = until, place + 1

    def _rate(self, place: int) -> float:
        """The rate before one of the times."""
        return self.rates[place - 1] if 0 < place < len(self.times) else 0.0

    def _by(self, seconds: float) -> float:
        """The requests that have come by a time."""
        seconds = min(seconds, self.times[-1])
        place = bisect_right(self.times, seconds, hi=len(self.rates))
        if place == 0:
            return 0.0
        return self._come[place - 1] + self.rates[place - 1] * (seconds - self.times[place - 1])


def in_steps(
    rates: Sequence[float], step_seconds: float = 60.0, begins: float = 0.0
) -> RequestRate:
    """Rates that hold equally long each."""
    return RequestRate([begins + step_seconds * step for step in range(len(rates) + 1)], rates)
