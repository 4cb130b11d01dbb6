"""Query broken GPUs from Prometheus at intervals; each result holds until the next.

If Prometheus gives no result, the last one is kept, and its faults expire by their own age.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import NoReturn

from plimsoll.clock import repeat
from plimsoll.observe.measured.gpu_faults import (
    FRESH,
    LAST_XID,
    XIDS_OF_LATE,
    GpuFault,
    gpu_faults,
    suspects,
)
from plimsoll.observe.measured.sample import NoResult, Query, Span
from plimsoll.signals.exporters import ANY_EXPORTER, Exporters
from plimsoll.signals.prometheus.prometheus import Prometheus
from plimsoll.vocabulary import logs, metrics

MOST_XID = 100_000
LONGEST_JOB = 253
"""A query has room for some names of scrape jobs; a longer one belongs to no real job."""
_log = logs.logger(__name__)


class FaultWatch:
    """Queries at a fixed interval while `run` runs, and calls `changed` when there is news.

    `exporters` are those that are believed.
    """

    def __init__(
        self,
        prometheus: Prometheus,
        changed: Callable[[], None],
        *,
        seconds: int,
        exporters: Exporters = ANY_EXPORTER,
    ) -> None:
        self._prometheus = prometheus
        self._changed = changed
        self._seconds = seconds
        self._exporters = exporters
        self._matchers = f", {exporters.matchers}" if exporters.matchers else ""
        metric = f'{{__name__=~"{LAST_XID}|{XIDS_OF_LATE}"{self._matchers}}}'
        gpus = "count by (job, instance, UUID, gpu, device)"
        self._count = Query("watched_gpus", f"count({gpus} ({metric}))", least=0)
        self._errors = Query("gpu_errors", f"{metric} > 0", least=0, most=MOST_XID)
        self._faults: tuple[GpuFault, ...] = ()
        metrics.FAULTY_GPUS.set_function(lambda: self._fresh(datetime.now(UTC)))

    def current(self) -> tuple[GpuFault, ...]:
        """The faults by the latest result."""
        return self._faults

    async def run(self) -> NoReturn:
        """Query until cancelled."""
        await repeat(lambda: self.look(datetime.now(UTC)), self._seconds)

    async def look(self, now: datetime) -> None:
        """Query once."""
        watched = await self._prometheus.now(self._count)
        if isinstance(watched, NoResult):
            return
        metrics.WATCHED_GPUS.set(sum(sample.value for sample in watched.samples))
        found = await self._found(_span(now, self._seconds))
        if found is None:
            return
        if found != self._faults:
            self._faults = found
            _log.info("faulty GPUs", faults=[str(fault) for fault in found])
            self._changed()

    def _fresh(self, now: datetime) -> int:
        """The number of GPUs that broke recently."""
        return len({fault.gpu for fault in self._faults if now - fault.since < FRESH})

    async def _found(self, span: Span) -> tuple[GpuFault, ...] | None:
        """The recent faults; None if Prometheus gives no result."""
        errors = await self._prometheus.over(self._errors, span)
        if isinstance(errors, NoResult):
            return None
        jobs = {job for job, _ in suspects(errors.samples) if len(job) <= LONGEST_JOB}
        if not jobs:
            return ()
        scrapes = await self._prometheus.over(self._scrapes(jobs), span)
        if isinstance(scrapes, NoResult):
            return None
        found = gpu_faults(errors.samples, scrapes.samples)
        return tuple(replace(each, labels=self._exporters.located(each.labels)) for each in found)

    def _scrapes(self, jobs: Iterable[str]) -> Query:
        """When the exporters of these scrape jobs were up: queried only if it matters."""
        # JSON writes exactly what Go reads as a string.
        pattern = json.dumps("|".join(re.escape(job) for job in sorted(jobs)))
        return Query("exporter_scrapes", f"up{{job=~{pattern}{self._matchers}}} == 1")


def _span(now: datetime, seconds: int) -> Span:
    """The last minutes, at moments that stay the same from one query to the next.

    The last moment lies ahead: what is known until then counts for it.
    """
    end = -(-now.timestamp() // seconds) * seconds
    steps = -(-FRESH.total_seconds() // seconds)
    start = datetime.fromtimestamp(end - steps * seconds, UTC)
    return Span(start, datetime.fromtimestamp(end, UTC), seconds)
