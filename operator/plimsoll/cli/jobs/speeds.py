"""How fast a job is taken to be on each GPU type, and whether that was measured or is assumed."""

from collections.abc import Iterable, Iterator

from plimsoll.api.parts.progress import GpuSpeed, SpeedBasis
from plimsoll.api.training_job import TrainingJob
from plimsoll.cli.output.results import Speed


def speeds(job: TrainingJob, compared: Iterable[GpuSpeed]) -> tuple[Speed, ...]:
    """The speeds by GPU type, as plans use them.

    `compared`: those of a job that leaves out any; without them, it states all.
    """
    by_type = {each.type: each for each in compared}
    if not by_type:
        return tuple(_stated(job))
    return tuple(
        _speed(job, kind, each.basis, percent=each.percent) for kind, each in by_type.items()
    )


def _stated(job: TrainingJob) -> Iterator[Speed]:
    measured = {each.type for each in job.status.measured}
    for each in job.spec.accelerators:
        basis = "Assumed" if each.is_assumed or not each.throughput else "Stated"
        yield _speed(job, each.type, "Measured" if each.type in measured else basis)


def _speed(job: TrainingJob, kind: str, basis: SpeedBasis, *, percent: int | None = None) -> Speed:
    workers, rate = _measured(job, kind) or _promised(job, kind) or (None, None)
    return Speed(kind, basis, _unit(job), percent, workers, rate)


def _measured(job: TrainingJob, kind: str) -> tuple[int, float] | None:
    """The workers for which most was measured on a GPU type, and their rate."""
    mine = [each for each in job.status.measured if each.type == kind]
    longest = max(mine, key=lambda each: each.seconds, default=None)
    return None if longest is None else (longest.workers, round(float(longest.rate), 4))


def _promised(job: TrainingJob, kind: str) -> tuple[int, float] | None:
    """The first rate that the spec states for a GPU type; an assumed one has no unit."""
    stated = (each for each in job.spec.accelerators if each.type == kind and not each.is_assumed)
    points = next((each.throughput for each in stated), ())
    return (points[0].workers, round(float(points[0].rate), 4)) if points else None


def _unit(job: TrainingJob) -> str:
    if job.status.progress is not None:
        return job.status.progress.unit
    return job.spec.work.unit if job.spec.work is not None else "steps"
