"""The latest report of each worker, and whether it calls for action at once.

It is kept in memory only: each report is complete, so a new leader has everything after one round
of reports.
"""

import threading
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from plimsoll.observe.measured.reports import WorkerReport
from plimsoll.vocabulary import metrics

FORGOTTEN: Final = timedelta(minutes=10)
"""A worker silent for this long is forgotten: it would not learn of a notice either."""
_SAME_SAVE: Final = timedelta(seconds=5)
"""How far the times of one save may differ between reports, due to their transmission times."""
_SHORTEST_SECONDS: Final = 15.0
_REPORTS_A_SECOND: Final = 200.0
"""The target rate of reports without news, over all workers, so that they do not fill a CPU."""


class Registry:
    """The latest report of each worker, by its pod's uid. Thread-safe."""

    def __init__(self) -> None:
        self._reports: dict[str, WorkerReport] = {}
        self._lock = threading.Lock()

    @property
    def report_seconds(self) -> float:
        """How long a worker with nothing new may wait before it reports again."""
        return max(_SHORTEST_SECONDS, len(self._reports) / _REPORTS_A_SECOND)

    def of(self, pod_uid: str) -> WorkerReport | None:
        """The latest report from the worker in a pod."""
        return self._reports.get(pod_uid)

    def take(self, report: WorkerReport) -> bool:
        """Store a report; return whether it is the first, or reports a save or acknowledgement."""
        with self._lock:
            before = self._reports.get(report.pod_uid)
            if before is not None and _is_same_save(before, report):
                report = replace(report, saved_at=before.saved_at)
            self._reports[report.pod_uid] = report
            metrics.REPORTING_WORKERS.set(len(self._reports))
        return before is None or _word(before) != _word(report)

    def current(self, now: datetime) -> tuple[WorkerReport, ...]:
        """All known reports; workers silent for too long are forgotten."""
        with self._lock:
            late = [uid for uid, report in self._reports.items() if now - report.at > FORGOTTEN]
            for uid in late:
                del self._reports[uid]
            metrics.REPORTING_WORKERS.set(len(self._reports))
            return tuple(self._reports.values())


def _is_same_save(before: WorkerReport, report: WorkerReport) -> bool:
    if before.saved != report.saved or before.saved_at is None or report.saved_at is None:
        return False
    return abs(report.saved_at - before.saved_at) < _SAME_SAVE


def _word(report: WorkerReport) -> tuple[object, ...]:
    return report.saved, report.saved_at, report.acknowledged
