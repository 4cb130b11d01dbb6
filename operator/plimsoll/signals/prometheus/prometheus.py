"""Prometheus for the rest of the operator: a query in, a result or none out, never an error.

Queries run in a few threads, so that the event loop never waits for one, and a hanging one costs
only its thread.
"""

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from plimsoll.errors import PrometheusError, PrometheusRefused, PrometheusUnusable
from plimsoll.observe.measured.sample import NoResult, Outcome, Query, QueryResult, Span
from plimsoll.signals.prometheus.connection import Connection, ConnectionTerms
from plimsoll.signals.prometheus.decoding import query_result
from plimsoll.vocabulary import logs, metrics

THREADS = 2
MOST_REMEMBERED = 10_000
"""The last outcome of this many queries is remembered, to decide what is news for the log."""
_log = logs.logger(__name__)


class Prometheus:
    """One Prometheus; `clock` is monotonic, in seconds."""

    def __init__(
        self,
        terms: ConnectionTerms,
        *,
        threads: int = THREADS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = Connection(terms)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="prometheus")
        # The session enforces the timeout itself. This covers what it cannot see: slow name
        # resolution, headers sent byte by byte, other queries that do the same.
        self._last_resort_seconds = 2 * terms.timeout_seconds + 1
        self._clock = clock
        self._answered_at: dict[str, float] = {}
        self._ends: dict[tuple[str, str], str] = {}

    async def now(self, query: Query) -> QueryResult | NoResult:
        """The result of an instant query now."""
        return await self._queried(
            query, lambda: query_result(self._connection.now(query), query, now=datetime.now(UTC))
        )

    async def over(self, query: Query, span: Span) -> QueryResult | NoResult:
        """The results of a range query over a time span."""
        return await self._queried(
            query, lambda: query_result(self._connection.over(query, span), query)
        )

    def age_seconds(self, query: str) -> float:
        """How long ago a query of this name was last answered."""
        return self._clock() - self._answered_at.get(query, -math.inf)

    def close(self) -> None:
        """Start no more queries; hanging ones end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._connection.close()

    async def _queried(
        self, query: Query, run: Callable[[], QueryResult]
    ) -> QueryResult | NoResult:
        if query.name not in self._answered_at:
            self._answered_at[query.name] = -math.inf
            age = metrics.PROMETHEUS_AGE.labels(query.name)
            age.set_function(lambda: self.age_seconds(query.name))
        running = asyncio.get_running_loop().run_in_executor(self._threads, run)
        try:
            async with asyncio.timeout(self._last_resort_seconds):
                found = await running
        except TimeoutError:
            return self._failed(query, Outcome.UNAVAILABLE, "no answer in time")
        except PrometheusError as error:
            return self._failed(query, _outcome(error), str(error))
        self._answered(query, found)
        return found

    def _answered(self, query: Query, found: QueryResult) -> None:
        self._answered_at[query.name] = self._clock()
        metrics.PROMETHEUS_QUERIES.labels(query.name, Outcome.ANSWERED).inc()
        for sample in found.flawed:
            metrics.PROMETHEUS_FLAWS.labels(query.name, sample.flaw).inc()
        if self._ends.pop((query.name, query.about), None):
            _log.info("Prometheus answers again", query=query.name, about=query.about)

    def _failed(self, query: Query, outcome: Outcome, message: str) -> NoResult:
        metrics.PROMETHEUS_QUERIES.labels(query.name, outcome).inc()
        # Logged once, and again when the reason changes: the metric shows how long it lasts.
        if self._ends.get((query.name, query.about)) != outcome:
            _log.warning(
                "Prometheus gives no answer",
                query=query.name,
                about=query.about,
                outcome=outcome,
                error=message,
            )
        self._ends[query.name, query.about] = outcome
        if len(self._ends) > MOST_REMEMBERED:
            del self._ends[next(iter(self._ends))]
        return NoResult(outcome, message)


def _outcome(error: PrometheusError) -> Outcome:
    if isinstance(error, PrometheusRefused):
        return Outcome.REFUSED
    return Outcome.UNUSABLE if isinstance(error, PrometheusUnusable) else Outcome.UNAVAILABLE
