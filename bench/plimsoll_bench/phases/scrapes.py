"""What a Prometheus would know of the replicas: scrapes at intervals, and answers from them.

Of the operator's query only the names of the measures are read. Rates are extrapolated to the
window as by `rate`, for a replica that is younger than it by half of an interval at each end.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from plimsoll.observe.measured.sample import NoResult, Outcome, Query, QueryResult, Sample, Span
from plimsoll.signals.load.queries import MEAN
from plimsoll_bench.phases.fleet import DECODE, PREFILL, Fleet, Replica

MEASURE: Final = re.compile(r'"measure", "([^"]+)"')
BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
TIMES: Final = {"TimeToFirstToken": PREFILL, "TimePerOutputToken": DECODE}
TOKENS: Final = {"PromptTokens": PREFILL, "GenerationTokens": DECODE}


def time_of(seconds: float) -> datetime:
    """The time at so many seconds from the beginning."""
    return BEGIN + timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True)
class Scrape:
    """One replica's metrics at a moment."""

    at: float
    requests: int
    tokens: float
    running: int
    waiting: int
    times: tuple[int, ...]
    seconds: float


class Scrapes:
    """The scrapes of all replicas within a window; a source of answers for the operator."""

    def __init__(self, fleet: Fleet, interval: float, window: float) -> None:
        self._fleet, self._interval, self._window = fleet, interval, window
        self._kept = int(window / interval) + 1
        self._seen: dict[Replica, deque[Scrape]] = {}

    def scrape(self) -> None:
        """Scrape all replicas that are ready."""
        fleet = self._fleet
        seen: dict[Replica, deque[Scrape]] = {}
        for replica in fleet.replicas:
            if replica.ready <= fleet.now:
                known = self._seen.get(replica, deque(maxlen=self._kept))
                known.append(_scrape(replica, fleet.now))
                seen[replica] = known
        self._seen = seen

    async def now(self, query: Query, /) -> QueryResult | NoResult:
        """The result of an instant query."""
        at = time_of(self._fleet.now)
        samples = (each for name in MEASURE.findall(query.promql) for each in self._of(name, at))
        return QueryResult(tuple(samples))

    async def over(self, query: Query, span: Span, /) -> QueryResult | NoResult:
        """Nothing is known of before."""
        return NoResult(Outcome.UNUSABLE, f"nothing of {query.name} before {span.end}")

    def _of(self, measure: str, at: datetime) -> Iterator[Sample]:
        name, _, place = measure.partition("/")
        if place not in ("", "0"):
            return
        name, *only = name.split("@")
        if name in TIMES:
            yield from self._histogram(measure, TIMES[name], only[1] if only else "", at)
            return
        for replica, scrapes in self._seen.items():
            if len(scrapes) > 1 and TOKENS.get(name, replica.role) == replica.role:
                value = self._value(name, scrapes)
                yield Sample({"measure": measure, "pod": replica.name}, value, at)

    def _value(self, measure: str, scrapes: Sequence[Scrape]) -> float:
        first, last = scrapes[0], scrapes[-1]
        factor = self._factor(scrapes)
        if measure in ("Running", "Waiting"):
            return sum(_gauge(each, measure) for each in scrapes) / len(scrapes)
        if measure.endswith("Growth"):
            name = measure.removesuffix("Growth")
            return (_gauge(last, name) - _gauge(first, name)) * factor
        if measure == "Requests":
            return (last.requests - first.requests) * factor / self._window
        if measure in TOKENS:
            return (last.tokens - first.tokens) * factor / self._window
        return 1.0

    def _factor(self, scrapes: Sequence[Scrape]) -> float:
        sampled = scrapes[-1].at - scrapes[0].at
        return min(self._window, sampled + self._interval) / sampled

    def _histogram(self, measure: str, role: str, gpu_type: str, at: datetime) -> Iterator[Sample]:
        sums: dict[str, float] = defaultdict(float)
        seconds = 0.0
        for replica, scrapes in self._seen.items():
            if replica.role != role or gpu_type not in ("", replica.gpu_type) or len(scrapes) < 2:  # noqa: PLR2004
                continue
            factor, total = self._factor(scrapes) / self._window, 0
            bounds = [*map(str, replica.engine.counters.bounds), "+Inf"]
            times = zip(bounds, scrapes[0].times, scrapes[-1].times, strict=True)
            for bound, before, after in times:
                total += after - before
                sums[bound] += total * factor
            seconds += (scrapes[-1].seconds - scrapes[0].seconds) * factor
        if role == DECODE and sums.get("+Inf"):
            yield Sample({"measure": measure, "le": MEAN}, seconds / sums["+Inf"], at)
        for bound, value in sums.items():
            yield Sample({"measure": measure, "le": bound}, value, at)


def _gauge(scrape: Scrape, name: str) -> int:
    return scrape.running if name == "Running" else scrape.waiting


def _scrape(replica: Replica, at: float) -> Scrape:
    engine = replica.engine
    counters = engine.counters
    return Scrape(
        at,
        counters.requests,
        counters.tokens,
        engine.running,
        engine.waiting,
        tuple(counters.times),
        counters.seconds,
    )
