"""How good a run was: completion times, GPU-hours and restarts."""

from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll_simulator.life import Life
from plimsoll_simulator.simulation import Run, Stay

SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures over all jobs of a run; a completion time is from a job's submission to its end."""

    jobs: int
    mean_jct_hours: float
    p99_jct_hours: float
    makespan_hours: float
    gpu_hours_per_job: float
    training_gpu_hours_per_job: float
    restarts_per_job: float
    max_round_seconds: float
    mean_round_seconds: float


def figures(run: Run) -> Figures:
    """The figures of a finished run."""
    ends = [life.completed or 0.0 for life in run.lives]
    times = sorted(e - life.arrival.seconds for e, life in zip(ends, run.lives, strict=True))
    count = len(times)
    begin = min(life.arrival.seconds for life in run.lives)
    return Figures(
        jobs=count,
        mean_jct_hours=sum(times) / count / SECONDS_PER_HOUR,
        p99_jct_hours=times[int(0.99 * count)] / SECONDS_PER_HOUR,
        makespan_hours=(max(ends) - begin) / SECONDS_PER_HOUR,
        gpu_hours_per_job=sum(life.gpu_seconds for life in run.lives) / count / SECONDS_PER_HOUR,
        training_gpu_hours_per_job=sum(life.training_gpu_seconds for life in run.lives)
        / count
        / SECONDS_PER_HOUR,
        restarts_per_job=sum(life.restarts for life in run.lives) / count,
        max_round_seconds=max(run.decision_seconds),
        mean_round_seconds=sum(run.decision_seconds) / len(run.decision_seconds),
    )


@dataclass(frozen=True, slots=True)
class JobFigures:
    """Figures of one job; hours since its submission, but `submitted_hours` since the beginning."""

    name: str
    submitted_hours: float
    waited_hours: float
    jct_hours: float
    gpu_hours: float
    restarts: int
    most_gpus: int


def job_figures(run: Run) -> tuple[JobFigures, ...]:
    """The figures of each job of a finished run."""
    stays = {life.arrival.name: list[Stay]() for life in run.lives}
    for stay in run.stays:
        stays[stay.job].append(stay)
    return tuple(_of_job(life, stays[life.arrival.name]) for life in run.lives)


def _of_job(life: Life, stays: Sequence[Stay]) -> JobFigures:
    submitted = life.arrival.seconds
    started = min((stay.begins for stay in stays), default=submitted)
    return JobFigures(
        name=life.arrival.name,
        submitted_hours=submitted / SECONDS_PER_HOUR,
        waited_hours=(started - submitted) / SECONDS_PER_HOUR,
        jct_hours=((life.completed or submitted) - submitted) / SECONDS_PER_HOUR,
        gpu_hours=life.gpu_seconds / SECONDS_PER_HOUR,
        restarts=life.restarts,
        most_gpus=max((stay.place.gpus for stay in stays), default=0),
    )
