"""Which of several equals start: first what is small and short, by what is known of it.

Many small jobs start in the place of one large, so that all together wait for a shorter time. The
less GPU-seconds a waiting job takes, the more urgent it is, but never by more than a long wait
makes up for: see `urgency.py`.

Where nothing else came, the longest job would start last, and the queue end late for its sake. So a
job goes first that takes as long as all other work, spread over all GPUs, is going to.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.gang_roles import replicas_beside
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.training.expected_end import seconds_left
from plimsoll.planning.training.rates import stated_rates, states_its_unit
from plimsoll.remembered import once_for_each
from plimsoll_placement.model import WHOLE_GPU_MILLI, Job
from plimsoll_placement.model import JobName as SolverName
from plimsoll_placement.score.worth import held_milli, least_milli

HALVING_MILLI: Final = 25
"""What each halving of its GPU-seconds adds to the urgency of a waiting job: as much as waiting for
36 minutes does on average."""
MOST_HALVINGS: Final = 20
"""Below 2**20 GPU-seconds, some 290 GPU-hours; what takes more is not told apart."""
ASSUMED_SECONDS: Final = 3600
"""How long a job takes of which that is not known."""
HASTE_MILLI: Final = 500
"""What is added to the urgency of a job that is hastened, as much as to the smallest job."""
DOUBLING_MILLI: Final = 10
"""What each doubling of its length in seconds adds to that."""
TOO_LONG: Final = 2
"""A job that takes more than so many times as long as the queue would is not hastened: it ends
about as late whenever it starts."""


@once_for_each
def stated_seconds(job: TrainingJob) -> float | None:
    """How long all of a job's work takes at its least size by its spec; None if that does not say.

    Its own measurements are left out: the order of jobs is not to change with every report. What
    jobs of the same program have measured changes seldom.
    """
    if job.spec.work is None or not states_its_unit(job):
        return None
    best = max(stated_rates(job, (job.spec.workers.counts[0],)).values(), default=0.0)
    return float(job.spec.work.amount) / best if best > 0 else None


@once_for_each
def head_start_milli(job: TrainingJob | InferenceJob) -> int:
    """What a job's size and length add to its urgency; of a service, those of one replica."""
    if isinstance(job, TrainingJob):
        return head_start_of(_least_gpu_milli(job), stated_seconds(job))
    largest = max(role.milli_gpus_per_pod * role.pods_per_replica for role in job.spec.roles)
    return head_start_of(largest, None)


def head_start_of(gpu_milli: int, seconds: float | None) -> int:
    """The same of so many GPUs for so long, if that is known."""
    taken = gpu_milli / WHOLE_GPU_MILLI * (ASSUMED_SECONDS if seconds is None else seconds)
    doublings = int(math.log2(taken)) if taken > 1 else 0
    return HALVING_MILLI * max(0, MOST_HALVINGS - doublings)


def _least_gpu_milli(job: TrainingJob) -> int:
    workers, least = job.spec.workers, job.spec.workers.counts[0]
    beside = (
        replicas_beside(workers, role.replicas, least) * role.milli_gpus_per_replica
        for role in job.spec.roles
    )
    return least * workers.milli_gpus_per_worker + sum(beside)


def hastened(
    jobs: Sequence[Job], snapshot: Snapshot, supply_milli: Mapping[str, int]
) -> dict[SolverName, int]:
    """What is added to the urgency of jobs without which all would be over sooner.

    A job may be hastened against others of its priority; what has a higher one goes before anyway.
    The longest are hastened most.
    """
    lengths = {job.name: seconds for job in jobs if (seconds := _waits_for(job, snapshot))}
    over: dict[int, float] = {}
    for priority in {job.priority for job in jobs if job.name in lengths}:
        before = [job for job in jobs if job.priority >= priority]
        over[priority] = _seconds_of_all(before, snapshot, sum(supply_milli.values()))
    return {
        job.name: _haste_milli(lengths[job.name])
        for job in jobs
        if job.name in lengths
        and over[job.priority] <= lengths[job.name] < TOO_LONG * over[job.priority]
    }


def _waits_for(job: Job, snapshot: Snapshot) -> float | None:
    """How long a waiting gang will take, where its user says so."""
    resource = snapshot.job_by_name[JobName(job.name)].training
    return None if resource is None or job.running else stated_seconds(resource)


def _seconds_of_all(jobs: Iterable[Job], snapshot: Snapshot, supply_milli: int) -> float:
    """How long jobs, running and waiting, keep all GPUs busy that no service holds."""
    work, free = 0.0, supply_milli
    for job in jobs:
        resource = snapshot.job_by_name[JobName(job.name)].training
        if resource is None:
            free -= held_milli(job, job.running)
        elif job.running:
            left = seconds_left(resource, snapshot.now)
            seconds = ASSUMED_SECONDS if left is None else max(0, left)
            work += held_milli(job, job.running) * seconds
        else:
            seconds = stated_seconds(resource)
            work += least_milli(job) * (ASSUMED_SECONDS if seconds is None else seconds)
    return work / free if free > 0 else math.inf


def _haste_milli(seconds: float) -> int:
    return HASTE_MILLI + int(DOUBLING_MILLI * math.log2(max(1.0, seconds)))
