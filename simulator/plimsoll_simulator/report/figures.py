"""How good it was: completion times, waiting, and what became of the GPUs' time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll_simulator.diary import Stay, by_job
from plimsoll_simulator.programs.serving import Service
from plimsoll_simulator.programs.training import Run
from plimsoll_simulator.story import Lived

SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures over all training jobs.

    A completion time is from a job's submission to its end, infinite if it did not end; waiting is
    from its submission to its first step, or to the end of the simulation. Of the GPU-hours that
    their pods held, `useful` made progress that was kept, `lost` progress that was not, and
    `starting` loaded checkpoints; the rest went into starting and ending pods. `offered` is what
    nodes had.
    """

    jobs: int
    done: int
    mean_jct_hours: float
    p99_jct_hours: float
    makespan_hours: float
    waiting_p50_hours: float
    waiting_p95_hours: float
    offered_gpu_hours: float
    held_gpu_hours: float
    useful_gpu_hours: float
    starting_gpu_hours: float
    lost_gpu_hours: float
    restarts_per_job: float


@dataclass(frozen=True, slots=True)
class JobFigures:
    """Figures of one job; hours since its submission, but `submitted_hours` since the beginning.

    `jct_hours` is infinite where it did not end, `waited_hours` where it never ran.
    """

    name: str
    submitted_hours: float
    waited_hours: float
    jct_hours: float
    gpu_hours: float
    lost_gpu_hours: float
    restarts: int
    most_gpus: int


@dataclass(frozen=True, slots=True)
class ServiceFigures:
    """Figures of one service: what came of what its profiles count, and how much was answered."""

    name: str
    requests: float
    answered_percent: float
    gpu_hours: float
    most_gpus: int


def figures(lived: Lived) -> Figures:
    """The figures of a workload with at least one job."""
    accounts = [run.account for run in lived.runs]
    names, count, hour = {run.name for run in lived.runs}, len(accounts), SECONDS_PER_HOUR
    ends = [math.inf if each.completed is None else each.completed for each in accounts]
    times = sorted(end - each.submitted for end, each in zip(ends, accounts, strict=True))
    waits = sorted(
        (lived.seconds if each.started is None else each.started) - each.submitted
        for each in accounts
    )
    return Figures(
        jobs=count,
        done=sum(each.completed is not None for each in accounts),
        mean_jct_hours=sum(times) / count / hour,
        p99_jct_hours=_quantile(times, 0.99) / hour,
        makespan_hours=(max(ends) - min(each.submitted for each in accounts)) / hour,
        waiting_p50_hours=_quantile(waits, 0.5) / hour,
        waiting_p95_hours=_quantile(waits, 0.95) / hour,
        offered_gpu_hours=sum(each.gpus * (each.ends - each.begins) for each in lived.nodes) / hour,
        held_gpu_hours=_held_hours([stay for stay in lived.stays if stay.job in names]),
        useful_gpu_hours=sum(each.useful_gpu_seconds for each in accounts) / hour,
        starting_gpu_hours=sum(each.starting_gpu_seconds for each in accounts) / hour,
        lost_gpu_hours=sum(each.lost_gpu_seconds for each in accounts) / hour,
        restarts_per_job=sum(max(0, each.starts - 1) for each in accounts) / count,
    )


def job_figures(lived: Lived) -> tuple[JobFigures, ...]:
    """The figures of each job, in the order of their submission."""
    stays = by_job(lived.stays)
    return tuple(_of_job(run, stays.get(run.name, ())) for run in lived.runs)


def service_figures(lived: Lived) -> tuple[ServiceFigures, ...]:
    """The figures of each service, in the order of their creation."""
    stays = by_job(lived.stays)
    return tuple(_of_service(each, stays.get(each.name, ())) for each in lived.services)


def _of_service(service: Service, stays: Sequence[Stay]) -> ServiceFigures:
    return ServiceFigures(
        name=service.name,
        requests=service.came,
        answered_percent=100 * service.answered / service.came if service.came else 100.0,
        gpu_hours=_held_hours(stays),
        most_gpus=_most_at_once(stays),
    )


def _of_job(run: Run, stays: Sequence[Stay]) -> JobFigures:
    account, hour = run.account, SECONDS_PER_HOUR
    ended = math.inf if account.completed is None else account.completed
    started = math.inf if account.started is None else account.started
    return JobFigures(
        name=run.name,
        submitted_hours=account.submitted / hour,
        waited_hours=(started - account.submitted) / hour,
        jct_hours=(ended - account.submitted) / hour,
        gpu_hours=_held_hours(stays),
        lost_gpu_hours=account.lost_gpu_seconds / hour,
        restarts=max(0, account.starts - 1),
        most_gpus=_most_at_once(stays),
    )


def _held_hours(stays: Sequence[Stay]) -> float:
    return sum(stay.gpu_seconds for stay in stays) / SECONDS_PER_HOUR


def _most_at_once(stays: Sequence[Stay]) -> int:
    changes = [(stay.begins, stay.gpus) for stay in stays]
    changes += [(stay.ends, -stay.gpus) for stay in stays]
    most = held = 0
    for _, change in sorted(changes):
        held += change
        most = max(most, held)
    return most


def _quantile(ascending: Sequence[float], share: float) -> float:
    return ascending[min(len(ascending) - 1, int(share * len(ascending)))]
