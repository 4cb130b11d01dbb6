"""How many requests come per second, over time, as recorded."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class RequestRate:
    """Requests per second in steps of equal length from `begins` on, none before and after.

    Seconds count from the simulation's beginning; what is before is known to Prometheus.
    """

    rates: Sequence[float]
    step_seconds: float = 60.0
    begins: float = 0.0
    _until: Sequence[float] = field(init=False, repr=False, compare=False)
    """The requests that have come by the end of each step."""

    def __post_init__(self) -> None:
        """Add up the requests. Raises ValueError."""
        if not self.step_seconds > 0:
            raise ValueError("step_seconds must be more than 0")
        if not all(0 <= rate < float("inf") for rate in self.rates):
            raise ValueError("rates must be numbers of 0 or more")
        counts = (rate * self.step_seconds for rate in self.rates)
        object.__setattr__(self, "_until", [*accumulate(counts)])

    def mean(self, begins: float, ends: float) -> float:
        """The mean rate between two times."""
        return (self._come(ends) - self._come(begins)) / (ends - begins)

    def spans(self, begins: float, ends: float) -> Iterator[tuple[float, float]]:
        """The steps between two times: how long each is and its rate."""
        at, step = begins, self._step(begins)
        while at < ends:
            until = min(ends, self.begins + (step + 1) * self.step_seconds)
            if until > at:
                yield until - at, self._rate(step)
                at = until
            step += 1

    def _step(self, seconds: float) -> int:
        return int((seconds - self.begins) // self.step_seconds)

    def _rate(self, step: int) -> float:
        return self.rates[step] if 0 <= step < len(self.rates) else 0.0

    def _come(self, seconds: float) -> float:
        """The requests that have come by a time."""
        step = min(self._step(seconds), len(self.rates))
        if step < 0:
            return 0.0
        before = self._until[step - 1] if step else 0.0
        return before + self._rate(step) * (seconds - self.begins - step * self.step_seconds)


def interpolated(
    windows: Sequence[float], window_seconds: float, step_seconds: float, begins: float = 0.0
) -> RequestRate:
    """The rate from the means of windows: straight lines between the middles of windows."""
    middles = [(place + 0.5) * window_seconds for place in range(len(windows))]
    count = round(len(windows) * window_seconds / step_seconds)
    rates = [_between(middles, windows, (step + 0.5) * step_seconds) for step in range(count)]
    return RequestRate(rates, step_seconds, begins)


def _between(times: Sequence[float], values: Sequence[float], at: float) -> float:
    after = bisect_left(times, at)
    if after in (0, len(times)):
        return values[min(after, len(times) - 1)]
    share = (at - times[after - 1]) / (times[after] - times[after - 1])
    return values[after - 1] + share * (values[after] - values[after - 1])
