"""What queues hold in the model: sums of milli-GPUs by queue and GPU type.

A queue holds what its jobs and those of all queues below it hold; `pinned` is the constant part.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from plimsoll_placement.classes.relaxation import Relaxation
from plimsoll_placement.cpsat.sums import Sum
from plimsoll_placement.cpsat.variables import Variables
from plimsoll_placement.model import GpuType, Job, QueueName
from plimsoll_placement.score.score import least_use

Account = tuple[QueueName, GpuType]


@dataclass(frozen=True, slots=True)
class Posting:
    """Milli-GPUs of one type that a job's queue holds, as a sum."""

    job: Job
    gpu_type: GpuType
    milli: Sum


@dataclass(slots=True)
class Usage:
    """What each queue holds of each type: a sum over variables and a constant."""

    total: dict[Account, Sum] = field(default_factory=lambda: defaultdict(Sum))
    pinned: dict[Account, int] = field(default_factory=lambda: defaultdict(int))


def held(relaxation: Relaxation, variables: Variables) -> Usage:
    """Everything that is held, as limits count it."""
    usage = Usage(pinned=dict(relaxation.ledger.queue_used))
    for posting in _held(variables):
        _post(relaxation, usage, posting)
    return usage


def least_held(relaxation: Relaxation, variables: Variables, floor: int | None = None) -> Usage:
    """What is held with gangs at their least size, by jobs of at least a priority if given.

    Where the companions of gangs are is not part of the model. With a priority, which is asked to
    count against them, they hold nothing; otherwise, of each type, all that they might.
    """
    usage = Usage(pinned=dict(least_use(relaxation.problem, relaxation.pinned, floor)))
    for posting in _least_held(variables, with_companions=floor is None):
        if floor is None or posting.job.priority >= floor:
            _post(relaxation, usage, posting)
    return usage


def _post(relaxation: Relaxation, usage: Usage, posting: Posting) -> None:
    for queue in relaxation.problem.queue_chain.get(posting.job.queue, ()):
        usage.total[queue, posting.gpu_type].add(posting.milli.terms)


def _held(variables: Variables) -> Iterator[Posting]:
    for fresh in variables.fresh:
        per_replica = fresh.role.shape.gpu_milli * fresh.role.pods_per_replica
        milli = Sum().add(fresh.replicas.terms, per_replica)
        yield Posting(fresh.job_class.job, fresh.option.gpu_type, milli)
    for kept in variables.kept:
        for gpu_type in {load.gpu_type for load in kept.stay.loads}:
            loads = (load for load in kept.stay.loads if load.gpu_type == gpu_type)
            per_unit = sum(load.pods * load.shape.gpu_milli for load in loads)
            yield Posting(kept.job_class.job, gpu_type, Sum().add([(kept.units, per_unit)]))


def _least_held(variables: Variables, *, with_companions: bool) -> Iterator[Posting]:
    gangs = [
        (f.job_class.job, f.option.gpu_type, f.runs) for f in variables.fresh if f.runs is not None
    ]
    gangs += [
        (k.job_class.job, k.stay.gpu_type, k.units) for k in variables.kept if k.job_class.job.gang
    ]
    for job, gpu_type, count in gangs:
        yield Posting(job, gpu_type, Sum().add([(count, job.roles[0].least_gpu_milli)]))
        for role in job.companions if with_companions else ():
            for kind in role.yields:
                yield Posting(job, kind, Sum().add([(count, role.least_gpu_milli)]))
    for posting in _held(variables):
        if not posting.job.gang:
            yield posting
