"""What workers report: progress, checkpoints, acknowledged notices.

Reports are kept in memory only. Each is complete in itself, so after a restart of the operator the
next ones restore everything. How they arrive is not handled here.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from statistics import median
from typing import Final

_MOST: Final = 1e18
"""The largest figure that is believed, since a worker may report anything."""


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """A worker's latest report; its existence means that the worker listens for notices.

    `done` and `saved` are in the job's units of work, counted from its very beginning and not from
    this start; `rate` is the whole gang's units per second. `gradient_noise` is the gradient noise
    scale in samples (McCandlish et al. 2018, B_simple), `efficiency` the progress per sample now as
    a share of that at the smallest batch (Qiao et al. 2021, equation 6). `compute_seconds` is how
    long the worker usually computes in a step before it waits for the others, `step_seconds` the
    duration of the whole step. `batch` is the samples of a step over all workers, reported by those
    that can change it without a restart. `acknowledged` is the id of the notice for which it has
    saved, "" if none.
    """

    pod: str
    pod_uid: str
    job_uid: str
    replica: int
    revision: int
    at: datetime
    done: Decimal | None = None
    rate: Decimal | None = None
    saved: Decimal | None = None
    saved_at: datetime | None = None
    efficiency: float | None = None
    gradient_noise: float | None = None
    compute_seconds: float | None = None
    step_seconds: float | None = None
    batch: int | None = None
    acknowledged: str = ""


@dataclass(frozen=True, slots=True)
class Saved:
    """A checkpoint: how much work it holds, and when it was complete."""

    done: Decimal
    at: datetime


@dataclass(frozen=True, slots=True)
class JobReport:
    """The latest reports of a gang's workers: `reports` by replica, at least one."""

    reports: tuple[WorkerReport, ...]

    @property
    def at(self) -> datetime:
        """When the latest of them arrived."""
        return max(report.at for report in self.reports)

    @property
    def done(self) -> Decimal | None:
        """The least progress reported: a gang is as far as its last worker."""
        return min(_known(report.done for report in self.reports), default=None)

    @property
    def rate(self) -> Decimal | None:
        """The whole gang's units per second: the median of the workers' figures."""
        rates = _known(report.rate for report in self.reports)
        return median(rates) if rates else None

    @property
    def goodput(self) -> Decimal | None:
        """The rate times the statistical efficiency, where the workers report it (Pollux, 2021)."""
        if self.rate is None or self.efficiency is None:
            return self.rate
        return self.rate * self.efficiency

    @property
    def efficiency(self) -> Decimal | None:
        """The statistical efficiency: the median of the workers' figures."""
        return _median(report.efficiency for report in self.reports)

    @property
    def gradient_noise(self) -> Decimal | None:
        """The gradient noise scale in samples: the median of the workers' figures."""
        return _median(report.gradient_noise for report in self.reports)

    @property
    def batch(self) -> int | None:
        """The samples of a step, where workers change it and all that report it agree."""
        batches = {report.batch for report in self.reports if report.batch is not None}
        return next(iter(batches)) if len(batches) == 1 else None

    @property
    def is_changing_batch(self) -> bool:
        """Whether some workers have another batch already: nothing measured now is of either."""
        return len({report.batch for report in self.reports if report.batch is not None}) > 1

    @property
    def step_seconds(self) -> Decimal | None:
        """The duration of a step: the median of the workers' figures."""
        return _median(report.step_seconds for report in self.reports)

    @property
    def saved(self) -> Saved | None:
        """The last checkpoint saved by every worker that reports checkpoints, worker 0 included.

        If only worker 0 saves, only it reports; if each saves a part, the last part counts.
        """
        found = {
            report.replica: Saved(report.saved, report.saved_at)
            for report in self.reports
            if report.saved is not None and report.saved_at is not None
        }
        if 0 not in found:
            return None
        done = min(saved.done for saved in found.values())
        return Saved(done, max(saved.at for saved in found.values() if saved.done == done))

    def acknowledged(self, notice: str) -> frozenset[str]:
        """The names of the pods that have saved for the notice with this id."""
        return frozenset(report.pod for report in self.reports if report.acknowledged == notice)


def job_report(gang: Iterable[str], by_pod: Mapping[str, WorkerReport]) -> JobReport | None:
    """The reports of a gang's pods, by their uids in the order of replicas; None without any."""
    reports = tuple(by_pod[uid] for uid in gang if uid in by_pod)
    return JobReport(reports) if reports else None


def _median(values: Iterable[float | None]) -> Decimal | None:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return Decimal(repr(min(median(known), _MOST))) if known else None


def _known(values: Iterable[Decimal | None]) -> list[Decimal]:
    return [value for value in values if value is not None]
