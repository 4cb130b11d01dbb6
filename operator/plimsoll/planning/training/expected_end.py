"""Estimate when running jobs will be done, as far as their work and their rate are known."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.training.rates import best_rate, expected_rates, knows_its_unit

LONGEST_SECONDS: Final = 100 * 365 * 24 * 3600
"""Longer times are cut to a hundred years: calendars reach little further."""


@dataclass(frozen=True, slots=True)
class Left:
    """A job's remaining time at its own rate, time to its deadline, and cost of a restart."""

    work_seconds: float
    seconds: float
    start_seconds: int


def expected_ends(snapshot: Snapshot) -> dict[JobName, int]:
    """The seconds until each job is done, where known; negative for overdue jobs."""
    return dict(_ends(snapshot))


def _ends(snapshot: Snapshot) -> Iterator[tuple[JobName, int]]:
    for view in snapshot.jobs:
        if view.training is not None:
            seconds = seconds_left(view.training, snapshot.now)
            if seconds is not None:
                yield view.name, seconds


def seconds_left(job: TrainingJob, now: datetime) -> int | None:
    """By its status, otherwise by the work done, otherwise by its start time."""
    status = job.status
    if status.placement is None:
        return None
    if status.expected_completion is not None:
        return round((status.expected_completion - now).total_seconds())
    return _by_work(job, now)


def _by_work(job: TrainingJob, now: datetime) -> int | None:
    work, status = job.spec.work, job.status
    if work is None or status.placement is None:
        return None
    placement, progress = status.placement, status.progress
    rate = work_rate(job, placement.accelerator_type, placement.workers)
    if progress is not None and progress.unit == work.unit:
        measured = float(progress.rate) if progress.rate else rate
        return _seconds(work.amount - progress.done, measured)
    whole = _seconds(work.amount, rate)
    # A job with a placement that has not started yet is taken to start now.
    since = round((now - (status.started_time or now)).total_seconds())
    return None if whole is None else whole - since


def time_left(job: TrainingJob, now: datetime) -> Left | None:
    """What is left of a job with a deadline; None without one, or if its work is unknown."""
    work, progress = job.spec.work, job.status.progress
    if work is None or work.deadline is None:
        return None
    counts = progress is not None and progress.unit == work.unit
    done = progress.done if progress is not None and counts else Decimal(0)
    if job.status.started_time is not None and not counts:
        return None
    measured = float(progress.rate) if progress is not None and counts and progress.rate else 0
    rate = measured or _promised_rate(job)
    if not rate:
        return None
    checkpoint = job.spec.checkpoint
    start = checkpoint.save_seconds + checkpoint.restore_seconds
    return Left(
        work_seconds=max(0.0, min(float(work.amount - done) / rate, LONGEST_SECONDS)),
        seconds=(work.deadline - now).total_seconds(),
        start_seconds=start + int(checkpoint.interval.total_seconds()),
    )


def _promised_rate(job: TrainingJob) -> float:
    """The placement's rate by the job's own measurements, otherwise the best that they show.

    0 if neither says anything yet.
    """
    placement = job.status.placement
    if not knows_its_unit(job):
        return 0.0
    if placement is not None:
        return work_rate(job, placement.accelerator_type, placement.workers) or 0.0
    return best_rate(job)


def work_seconds(job: TrainingJob, gpu_type: str, workers: int) -> int | None:
    """The duration of all the work on so many workers, one start included; None if unknown."""
    if job.spec.work is None:
        return None
    seconds = _seconds(job.spec.work.amount, work_rate(job, gpu_type, workers))
    return None if seconds is None else seconds + job.spec.checkpoint.restore_seconds


def work_rate(job: TrainingJob, gpu_type: str, workers: int) -> float | None:
    """Units of work per second; None if unknown, or on a type that the job cannot run on."""
    if not knows_its_unit(job):
        return None
    return expected_rates(job, (workers,)).get((gpu_type, workers))


def _seconds(amount: Decimal, rate: float | None) -> int | None:
    return None if not rate else round(max(0.0, min(float(amount) / rate, LONGEST_SECONDS)))
