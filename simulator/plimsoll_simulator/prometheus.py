"""The twin's Prometheus: it knows how many requests come to each service, now and before."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from plimsoll.api.inference_job import InferenceJob
from plimsoll.clock import Clock
from plimsoll.observe.measured.sample import NoResult, Query, QueryResult, Sample, Span
from plimsoll.signals.load.queries import own_queries
from plimsoll_simulator.programs.request_rate import RequestRate

WINDOW_SECONDS = 120


class Prometheus:
    """Answers what the operator asks.

    What a service asks for its `Load` yields the requests per second that came in the last minutes,
    answered or not. All other queries find nothing.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rates: dict[str, RequestRate] = {}

    def add(self, job: InferenceJob, requests: RequestRate) -> None:
        """Know from now on how many requests come to a service. Raises ValueError."""
        asked = [own.query.promql for own in own_queries(job) if own.measurement == "Load"]
        if not asked:
            raise ValueError(f"{job.metadata.name}: give it a query for Load")
        if not self._rates.keys().isdisjoint(asked):
            raise ValueError(f"{job.metadata.name}: another service asks the same: name it in Load")
        self._rates |= dict.fromkeys(asked, requests)

    async def now(self, query: Query) -> QueryResult | NoResult:
        """The rate up to now."""
        return self._found(query, (self._clock.now(),))

    async def over(self, query: Query, span: Span) -> QueryResult | NoResult:
        """The rate up to each of some moments."""
        count = int((span.end - span.start).total_seconds()) // span.step_seconds + 1
        step = timedelta(seconds=span.step_seconds)
        return self._found(query, (span.start + step * place for place in range(count)))

    def _found(self, query: Query, moments: Iterable[datetime]) -> QueryResult:
        requests = self._rates.get(query.promql)
        return QueryResult(tuple(self._samples(requests, moments)) if requests else ())

    def _samples(self, requests: RequestRate, moments: Iterable[datetime]) -> Iterator[Sample]:
        """The rates at all moments of which something is recorded."""
        begins = self._clock.now() - timedelta(seconds=self._clock.monotonic())
        for moment in moments:
            until = (moment - begins).total_seconds()
            if until - WINDOW_SECONDS >= requests.times[0]:
                yield Sample({}, requests.mean(until - WINDOW_SECONDS, until), moment)
