"""Report a training job's progress in its status, from what its workers report.

Workers report every few seconds; the status is written at most once a minute, and whenever there is
a new checkpoint, because a restart resumes from it, or the first rate since a start, because plans
wait for it.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Context, Decimal
from typing import Final

from plimsoll.acting.conditions.conditions import whole_second
from plimsoll.api.parts.progress import MOST_MEASURED, MeasuredRate, Progress
from plimsoll.api.training_job import TrainingJob, TrainingJobStatus, TrainingPlacement
from plimsoll.observe.measured.reports import JobReport, Saved
from plimsoll.observe.snapshot import JobView

REPORT_INTERVAL: Final = timedelta(minutes=1)
MEMORY_SECONDS: Final = 3600
"""The most seconds for which an old measured rate weighs against a new one."""
_SAME_SAVE: Final = timedelta(seconds=5)
_LONGEST: Final = timedelta(days=36_500)
_ROUNDED: Final = Context(prec=6)
_MOST: Final = Decimal(10) ** 18
"""The largest amount reported, since workers may report anything."""


def progressed(view: JobView, job: TrainingJob, *, capped: bool = False) -> TrainingJobStatus:
    """The status with the workers' reports if they are due to be written; otherwise unchanged.

    `capped`: GPUs of the gang are power-capped, so its rate says nothing about their type.
    """
    status, report = job.status, view.report
    if report is None or not _is_due(view, status.progress, report):
        return status
    before = status.progress or Progress()
    progress = _progress(job, before, report)
    return status.model_copy(
        update={
            "progress": progress,
            "expected_completion": _completion(job, progress, report.at),
            "measured": status.measured if capped else _measured(job, before, report),
        }
    )


def without_rate(status: TrainingJobStatus) -> TrainingJobStatus:
    """The status of a job that goes on elsewhere: its progress stays, its rate is unknown."""
    progress = status.progress and status.progress.model_copy(update={"rate": None})
    return status.model_copy(update={"progress": progress, "expected_completion": None})


def _is_due(view: JobView, before: Progress | None, report: JobReport) -> bool:
    if report.done is None and report.rate is None and report.saved is None:
        return False
    if before is None or before.reported_time is None:
        return True
    if report.saved is not None and _is_news(report.saved, before):
        return True
    if before.rate is None and report.rate is not None:
        return True
    is_last_word = any(pod.is_over or pod.deleting for pod in view.pods)
    if is_last_word and report.done not in (None, before.done):
        return True
    return report.at - before.reported_time >= REPORT_INTERVAL


def _is_news(saved: Saved, before: Progress) -> bool:
    """Whether a checkpoint is new; leaders report slightly different times for the same one."""
    if before.last_checkpoint is None or before.saved_done != saved.done:
        return True
    return saved.at - before.last_checkpoint > _SAME_SAVE


def _progress(job: TrainingJob, before: Progress, report: JobReport) -> Progress:
    done = before.done if report.done is None else report.done
    update = {
        "done": done,
        "unit": job.spec.work.unit if job.spec.work else before.unit,
        "percent": _percent(job, done),
        "rate": None if report.rate is None else _short(report.rate),
        "gradient_noise": _noise(before, report),
        "batch": before.batch if report.is_changing_batch else report.batch,
        "reported_time": whole_second(report.at),
        "lost": min(_MOST, before.lost + max(Decimal(0), before.done - done)),
    }
    if report.saved is not None and _is_news(report.saved, before):
        update["saved_done"] = report.saved.done
        update["last_checkpoint"] = whole_second(report.saved.at)
    return before.model_copy(update=update)


def _percent(job: TrainingJob, done: Decimal) -> int | None:
    """The percentage done, rounded down so that 100 means all of it."""
    if job.spec.work is None:
        return None
    return min(100, int(done * 100 / job.spec.work.amount))


def _completion(job: TrainingJob, progress: Progress, now: datetime) -> datetime | None:
    if job.spec.work is None or not progress.rate:
        return None
    seconds = max(Decimal(0), job.spec.work.amount - progress.done) / progress.rate
    left = _LONGEST if seconds > _LONGEST.total_seconds() else timedelta(seconds=float(seconds))
    return whole_second(now + left)


def _noise(before: Progress, report: JobReport) -> Decimal | None:
    noise = report.gradient_noise
    return before.gradient_noise if noise is None else _short(noise)


def _goodput(job: TrainingJob, report: JobReport) -> Decimal | None:
    """The rate times the statistical efficiency, as reported or from the gradient noise.

    By the latter, a sample contributes (noise + smallest batch) / (noise + batch) of what it does
    at the smallest batch (Qiao et al. 2021, equation 6).
    """
    spec, placement = job.spec.batch, job.status.placement
    batch = placement.batch if placement else None
    noise = report.gradient_noise
    if report.efficiency is not None or noise is None or not spec or not batch:
        return report.goodput
    if report.rate is None:
        return None
    return report.rate * (noise + spec.size) / (noise + batch.size)


def _has_its_batch(placement: TrainingPlacement, report: JobReport) -> bool:
    """Whether what workers report is of the batch that they were given, and not of the last one."""
    if placement.batch is None or report.batch is None:
        return not report.is_changing_batch
    return report.batch == placement.batch.size


def _measured(job: TrainingJob, before: Progress, report: JobReport) -> tuple[MeasuredRate, ...]:
    """The measured rates, with the present one merged in for the time it has lasted."""
    status = job.status
    placement, started = status.placement, status.started_time
    goodput = _goodput(job, report)
    if placement is None or started is None or not goodput:
        return status.measured
    if not _has_its_batch(placement, report):
        return status.measured
    since = max(started, before.reported_time or started)
    most = 2 * int(REPORT_INTERVAL.total_seconds())
    seconds = min(int((report.at - since).total_seconds()), most)
    if seconds <= 0:
        return status.measured
    now = MeasuredRate(
        type=placement.accelerator_type,
        workers=placement.workers,
        batch=placement.batch.size if placement.batch else None,
        accumulation=placement.batch.accumulation if placement.batch else None,
        nodes=len({name for each in placement.assignments for name in each.nodes}),
        step_seconds=_step_seconds(job, placement, report),
        rate=_short(goodput),
        seconds=seconds,
    )
    return _merged(status.measured, now)


def _step_seconds(
    job: TrainingJob, placement: TrainingPlacement, report: JobReport
) -> Decimal | None:
    """The duration of a step: by the rate if that counts samples, otherwise as reported."""
    work, batch = job.spec.work, placement.batch
    if work is not None and work.unit == "samples" and batch is not None and report.rate:
        return _seconds(batch.size / report.rate)
    return _seconds(report.step_seconds)


def _merged(known: Sequence[MeasuredRate], now: MeasuredRate) -> tuple[MeasuredRate, ...]:
    """Merge in a time-weighted average; if there are too many, drop the one measured least."""
    same = [each for each in known if _is_same_run(each, now)]
    others = [each for each in known if each not in same]
    for old in same:
        now = _average(old, now)
    if len(others) >= MOST_MEASURED:
        others.remove(min(others, key=lambda each: each.seconds))
    return tuple(sorted((*others, now), key=_run))


def _run(measured: MeasuredRate) -> tuple[str, int, int, int, int]:
    batch, passes = measured.batch or 0, measured.accumulation or 0
    return measured.type, measured.workers, batch, passes, measured.nodes or 0


def _is_same_run(old: MeasuredRate, now: MeasuredRate) -> bool:
    """Whether both are of one size, batch and spread; older releases did not note all of these."""
    return _run(old) == _run(
        now.model_copy(
            update={
                "accumulation": now.accumulation if old.accumulation else None,
                "nodes": now.nodes if old.nodes else None,
            }
        )
    )


def _average(old: MeasuredRate, now: MeasuredRate) -> MeasuredRate:
    weights = min(old.seconds, MEMORY_SECONDS), now.seconds
    return now.model_copy(
        update={
            "rate": _short(_mean((old.rate, now.rate), weights)),
            "step_seconds": _mean_seconds(old.step_seconds, now.step_seconds, weights),
            "seconds": min(old.seconds + now.seconds, 2**31 - 1),
        }
    )


def _mean_seconds(
    old: Decimal | None, now: Decimal | None, weights: tuple[int, int]
) -> Decimal | None:
    """The mean of two durations, or the one that is known."""
    if old is None or now is None:
        return old if now is None else now
    return _seconds(_mean((old, now), weights))


def _mean(values: tuple[Decimal, Decimal], weights: tuple[int, int]) -> Decimal:
    (one, other), (of_one, of_other) = values, weights
    return (one * of_one + other * of_other) / (of_one + of_other)


def _seconds(seconds: Decimal | None) -> Decimal | None:
    """A duration, rounded; None if it is too short to be one."""
    return _short(seconds) or None if seconds is not None else None


def _short(rate: Decimal) -> Decimal:
    """Round to six digits, and at most nine decimal places, as quantities allow."""
    return round(_ROUNDED.plus(min(rate, _MOST)), 9)
