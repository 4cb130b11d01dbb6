"""How good a run was: completion times, GPU-hours and restarts."""

from dataclasses import dataclass

from plimsoll_bench.elastic.rounds.simulation import Run
from plimsoll_simulator.report.figures import SECONDS_PER_HOUR, figures
from plimsoll_simulator.story import Lived


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


def of_rounds(run: Run) -> Figures:
    """The figures of a run in rounds."""
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


def of_twin(lived: Lived) -> Figures:
    """The same of a workload on the twin; GPU-hours count from binding a pod to its end.

    Where a job is not done, they are not finite.
    """
    found = figures(lived)
    return Figures(
        jobs=found.jobs,
        mean_jct_hours=found.mean_jct_hours,
        p99_jct_hours=found.p99_jct_hours,
        makespan_hours=found.makespan_hours,
        gpu_hours_per_job=found.held_gpu_hours / found.jobs,
        training_gpu_hours_per_job=(found.useful_gpu_hours + found.lost_gpu_hours) / found.jobs,
        restarts_per_job=found.restarts_per_job,
        max_round_seconds=max(lived.plan_seconds),
        mean_round_seconds=sum(lived.plan_seconds) / len(lived.plan_seconds),
    )
