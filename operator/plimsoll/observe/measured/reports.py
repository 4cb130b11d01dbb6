"""What workers say of themselves: how far they are, what they saved, which notice they heeded.

Reports are kept in memory only. Each carries the whole of what its worker has to say, so after a
restart of the operator the next ones tell all there is. How they arrive is no matter here.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from statistics import median
from typing import Final

_MOST: Final = 1e18
"""The largest figure that is believed: what a worker says may be anything."""


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What a worker said last; that there is one at all means that it listens for notices.

    `done` and `saved` are in the job's units of work, counted from its very beginning and not from
    this start; `rate` is what the whole gang does of them in a second. `gradient_noise` is the
    gradient noise scale in samples (McCandlish et al. 2018, B_simple), `efficiency` the progress
    that a sample makes now as a share of what it would make at the smallest batch (Qiao et al.
    2021, equation 6). `compute_seconds` is how long it usually computes in a step before it waits
    for the others, `step_seconds` how long all of that step is. `acknowledged` is the id of the
    notice for which it has saved, "" if none.
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
    acknowledged: str = ""


@dataclass(frozen=True, slots=True)
class Saved:
    """A checkpoint: how much work is in it, and when it was whole."""

    done: Decimal
    at: datetime


@dataclass(frozen=True, slots=True)
class JobReport:
    """What a gang's workers said last: `reports` by replica, one at least."""

    reports: tuple[WorkerReport, ...]

    @property
    def at(self) -> datetime:
        """When the last of them was heard."""
        return max(report.at for report in self.reports)

    @property
    def done(self) -> Decimal | None:
        """The least that is done of those who say it: a gang is as far as its last worker."""
        return min(_told(report.done for report in self.reports), default=None)

    @property
    def rate(self) -> Decimal | None:
        """Units a second of the whole gang: the median of what the workers say of it."""
        rates = _told(report.rate for report in self.reports)
        return median(rates) if rates else None

    @property
    def goodput(self) -> Decimal | None:
        """The rate times the statistical efficiency, where the workers tell it (Pollux, 2021)."""
        if self.rate is None or self.efficiency is None:
            return self.rate
        return self.rate * self.efficiency

    @property
    def efficiency(self) -> Decimal | None:
        """The statistical efficiency: the median of what the workers say of it."""
        return _median(report.efficiency for report in self.reports)

    @property
    def gradient_noise(self) -> Decimal | None:
        """The gradient noise scale in samples: the median of what the workers say of it."""
        return _median(report.gradient_noise for report in self.reports)

    @property
    def saved(self) -> Saved | None:
        """The last checkpoint that all who tell of checkpoints have saved, worker 0 among them.

        Where only worker 0 saves, only it tells; where each saves a part, the last part counts.
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
    """What the pods of a gang said, by their uids in the order of replicas; None if none did."""
    reports = tuple(by_pod[uid] for uid in gang if uid in by_pod)
    return JobReport(reports) if reports else None


def _median(values: Iterable[float | None]) -> Decimal | None:
    told = [value for value in values if value is not None and math.isfinite(value)]
    return Decimal(repr(min(median(told), _MOST))) if told else None


def _told(values: Iterable[Decimal | None]) -> list[Decimal]:
    return [value for value in values if value is not None]
