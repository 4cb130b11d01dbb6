"""What each worker said last, and which of it should be acted on at once.

It is memory and nothing else: each report carries the whole, so whoever begins without any has all
of it after one round of reports.
"""

import threading
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from plimsoll import telemetry
from plimsoll.observe.measured.reports import WorkerReport

FORGOTTEN: Final = timedelta(minutes=10)
"""A worker that is silent for so long is not heard of any more: it learns of no notice either."""
_SAME_SAVE: Final = timedelta(seconds=5)
"""How far the times of one save may differ from report to report, by how long those were under way.
"""
_SHORTEST_SECONDS: Final = 15.0
_REPORTS_A_SECOND: Final = 200.0
"""How many reports of workers with nothing new there should be in all, lest they take a CPU."""


class Registry:
    """The last report of each worker, by its pod's uid. Threads may share it."""

    def __init__(self) -> None:
        self._reports: dict[str, WorkerReport] = {}
        self._lock = threading.Lock()

    @property
    def report_seconds(self) -> float:
        """How long a worker with nothing new may wait before it reports again."""
        return max(_SHORTEST_SECONDS, len(self._reports) / _REPORTS_A_SECOND)

    def of(self, pod_uid: str) -> WorkerReport | None:
        """What the worker in a pod said last."""
        return self._reports.get(pod_uid)

    def take(self, report: WorkerReport) -> bool:
        """Keep a report. Whether it is the first, or tells of a save or of a notice heeded."""
        with self._lock:
            before = self._reports.get(report.pod_uid)
            if before is not None and _is_same_save(before, report):
                report = replace(report, saved_at=before.saved_at)
            self._reports[report.pod_uid] = report
            telemetry.REPORTING_WORKERS.set(len(self._reports))
        return before is None or _word(before) != _word(report)

    def current(self, now: datetime) -> tuple[WorkerReport, ...]:
        """What is known; who was silent for too long is forgotten."""
        with self._lock:
            late = [uid for uid, report in self._reports.items() if now - report.at > FORGOTTEN]
            for uid in late:
                del self._reports[uid]
            telemetry.REPORTING_WORKERS.set(len(self._reports))
            return tuple(self._reports.values())


def _is_same_save(before: WorkerReport, report: WorkerReport) -> bool:
    if before.saved != report.saved or before.saved_at is None or report.saved_at is None:
        return False
    return abs(report.saved_at - before.saved_at) < _SAME_SAVE


def _word(report: WorkerReport) -> tuple[object, ...]:
    return report.saved, report.saved_at, report.acknowledged
