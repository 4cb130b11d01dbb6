"""How good was a run? Completion times, GPU-hours and restarts."""

from dataclasses import dataclass

from plimsoll_simulator.simulation import Run

SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Of all jobs of a run; a completion time is from a job's submission to its end."""

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
    """The figures of a run that is over."""
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
