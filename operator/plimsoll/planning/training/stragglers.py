"""Find a gang's stragglers: the workers that compute for much longer per step.

Workers training in lockstep all take as long as the slowest of them; each one's compute time before
it waits for the others shows which that is. They are compared with the gang's median, by the spread
around it: neither is affected while slow workers are fewer than half.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Final

from plimsoll.api.parts.stragglers import ReplacedWorker, SlowWorker
from plimsoll.api.training_job import TrainingJobStatus
from plimsoll.observe.measured.reports import WorkerReport

LEAST_WORKERS: Final = 3
"""With only two that differ, it is impossible to say which one is right."""
FRESH: Final = timedelta(minutes=2)
"""The maximum age of a report that is compared with others."""
SPREADS: Final = 3.5 / 0.6745
"""How many median absolute deviations above the median are beyond noise.

A modified z-score of 3.5 (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993).
"""
_LONGEST_SECONDS: Final = 1e6
_SHORTEST_SECONDS: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Pace:
    """A worker's compute time per step, and the median of its gang, in seconds.

    `lost` is the share of its time that the gang loses to it.
    """

    report: WorkerReport
    seconds: float
    gang_seconds: float
    is_slow: bool = False
    lost: float = 0.0

    @property
    def percent(self) -> int:
        """By what percentage it computes longer than the median."""
        return percent_longer(self.seconds, self.gang_seconds)


def paces(
    reports: Iterable[WorkerReport], now: datetime, slower_percent: int
) -> tuple[Pace, ...] | None:
    """The pace of each worker that reports it, slowest first; None if too few do.

    A worker is slow if it computes `slower_percent` longer than the median, beyond all noise.
    """
    reported = {report: s for report in reports if (s := _seconds(report, now)) is not None}
    if len(reported) < LEAST_WORKERS:
        return None
    usual = median(reported.values())
    spread = median(abs(seconds - usual) for seconds in reported.values())
    limit = max(usual * (1 + slower_percent / 100), usual + SPREADS * spread)
    rest = max(seconds for seconds in reported.values() if seconds <= limit)
    found = [
        Pace(
            report,
            seconds,
            usual,
            is_slow=seconds > limit,
            lost=max(0.0, seconds - rest) / max(seconds, report.step_seconds or 0.0),
        )
        for report, seconds in reported.items()
    ]
    return tuple(sorted(found, key=lambda pace: (-pace.seconds, pace.report.replica)))


def _seconds(report: WorkerReport, now: datetime) -> float | None:
    seconds = report.compute_seconds
    if seconds is None or now - report.at > FRESH:
        return None
    return seconds if 0 < seconds <= _LONGEST_SECONDS and math.isfinite(seconds) else None


def percent_longer(seconds: float, usual: float) -> int:
    """By what percentage one time span is longer than another."""
    return round(100 * (seconds / max(usual, _SHORTEST_SECONDS) - 1))


def sentence(slow: SlowWorker) -> str:
    """A description of a slow worker: `worker 2 on n-3 computes 0.45 s per step, ...`."""
    own, gang = float(slow.compute_seconds), float(slow.gang_seconds)
    return (
        f"worker {slow.replica} on {slow.node} computes {own:.3g} s per step,"
        f" {percent_longer(own, gang)} % longer than the median of its gang, {gang:.3g} s"
    )


def was_replaced(status: TrainingJobStatus, slow: SlowWorker) -> ReplacedWorker | None:
    """The same worker of a gang of the same size that was slow on another node before.

    Then the node is not at fault: that worker has more to do than the others.
    """
    workers = status.placement.workers if status.placement else 0
    return next(
        (
            each
            for each in reversed(status.replaced_workers)
            if (each.replica, each.workers) == (slow.replica, workers) and each.node != slow.node
        ),
        None,
    )
