"""Query GPU power from Prometheus every few seconds; readings expire soon.

If Prometheus gives no result, its last reading is not relied on for long: after three intervals the
draw is unknown, which is reported to those who watch the budgets.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn

from plimsoll.observe.measured.power import PowerReading
from plimsoll.observe.snapshot import Snapshot
from plimsoll.signals.exporters import ANY_EXPORTER, Exporters
from plimsoll.signals.power_reading import (
    PowerResults,
    Result,
    own_query,
    power_queries,
    power_reading,
)
from plimsoll.signals.prometheus.prometheus import Prometheus
from plimsoll.vocabulary import metrics

STALE_AFTER: Final = 3
"""A reading expires after this many intervals."""
SHORTEST_REST_SECONDS: Final = 0.5
PODS_SECONDS: Final = 60
"""How often pods are queried: they are many, and learning about them takes minutes anyway."""


class PowerWatch:
    """Queries at a fixed interval while `run` runs, and calls `changed` after each reading.

    `latest` is the latest snapshot: without a power domain in it nothing is queried. `exporters`
    are those that are believed.
    """

    def __init__(
        self,
        prometheus: Prometheus,
        latest: Callable[[], Snapshot | None],
        changed: Callable[[], None],
        *,
        seconds: int,
        exporters: Exporters = ANY_EXPORTER,
    ) -> None:
        self._prometheus = prometheus
        self._latest = latest
        self._changed = changed
        self._seconds = seconds
        self._fresh = timedelta(seconds=STALE_AFTER * seconds)
        self._exporters = exporters
        self._queries = power_queries(STALE_AFTER * seconds, exporters)
        self._reading: PowerReading | None = None
        self._queried_at = self._pods_queried_at = datetime.min.replace(tzinfo=UTC)

    def current(self, now: datetime) -> PowerReading:
        """The current reading; None if expired or not queried yet."""
        reading = self._reading or PowerReading(now)
        if self._reading is None or now - self._queried_at <= self._fresh:
            return reading
        said = f"Prometheus has not answered for {self._fresh.total_seconds():.0f} s"
        problems = dict.fromkeys((*reading.domains, *reading.problems), said)
        return PowerReading(reading.measured_at, problems=problems)

    async def run(self) -> NoReturn:
        """Query until cancelled."""
        while True:
            due = time.monotonic() + self._seconds
            await self.look(datetime.now(UTC))
            await asyncio.sleep(max(due - time.monotonic(), SHORTEST_REST_SECONDS))

    async def look(self, now: datetime) -> None:
        """Query once."""
        snapshot = self._latest()
        if snapshot is None or not snapshot.power_domains:
            self._reading = None
            return
        results, pods = await asyncio.gather(self._results(snapshot), self._pod_answers(now))
        self._reading = power_reading(replace(results, pods=pods), snapshot, now, self._exporters)
        self._queried_at = now
        metrics.POWER_MEASURED_NODES.set(len(self._reading.nodes))
        self._changed()

    async def _results(self, snapshot: Snapshot) -> PowerResults:
        queries, now = self._queries, self._prometheus.now
        own = {d.metadata.name: query for d in snapshot.power_domains if (query := own_query(d))}
        results: list[Result] = await asyncio.gather(
            *(now(query) for query in own.values()),
            now(queries.watts),
            now(queries.gpus),
            now(queries.oldest),
        )
        *of_domains, watts, gpus, oldest = results
        return PowerResults(watts, gpus, oldest, dict(zip(own, of_domains, strict=True)))

    async def _pod_answers(self, now: datetime) -> tuple[Result, Result] | None:
        if now - self._pods_queried_at < timedelta(seconds=PODS_SECONDS):
            return None
        self._pods_queried_at = now
        queries, prometheus = self._queries, self._prometheus
        return await asyncio.gather(
            prometheus.now(queries.pod_watts), prometheus.now(queries.pod_gpus)
        )
