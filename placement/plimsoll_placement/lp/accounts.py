"""What queues hold in the linear program, in GPUs by queue and GPU type."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from plimsoll_placement.classes.relaxation import Relaxation
from plimsoll_placement.lp.columns import Shares
from plimsoll_placement.lp.program import Column, Program
from plimsoll_placement.model import WHOLE_GPU_MILLI, GpuType, Job, QueueName

Account = tuple[QueueName, GpuType]
Holding = dict[Account, list[tuple[Column, float]]]


@dataclass(frozen=True, slots=True)
class Posting:
    """GPUs of one type that a job's queue holds for each unit of a column."""

    job: Job
    gpu_type: GpuType
    column: Column
    gpus: float


def limit_queues(program: Program, relaxed: Relaxation, shares: Iterable[Shares]) -> None:
    """A queue and all its descendants together stay within its limits, counting growth."""
    holding = _holding(relaxed, _held(shares))
    used = relaxed.ledger.queue_used
    for queue in relaxed.problem.queues:
        for gpu_type, milli in queue.limit.items():
            left = max(0, milli - used.get((queue.name, gpu_type), 0))
            program.at_most(holding[queue.name, gpu_type], left / WHOLE_GPU_MILLI)


def least_holding(
    relaxed: Relaxation, shares: Iterable[Shares], floor: int | None = None
) -> Holding:
    """What queues hold with gangs at their least size, by jobs of at least a priority if given.

    Of the companions of gangs, all that they might hold of each type; nothing with a priority,
    which is asked to count against them.
    """
    postings = _least_held(shares, with_companions=floor is None)
    return _holding(relaxed, (p for p in postings if floor is None or p.job.priority >= floor))


def _holding(relaxed: Relaxation, postings: Iterable[Posting]) -> Holding:
    holding: Holding = defaultdict(list)
    for posting in postings:
        for queue in relaxed.problem.queue_chain.get(posting.job.queue, ()):
            holding[queue, posting.gpu_type].append((posting.column, posting.gpus))
    return holding


def _held(shares: Iterable[Shares]) -> Iterator[Posting]:
    for own in shares:
        job = own.job_class.job
        for way in own.ways:
            role = way.option.role
            gpus = role.shape.gpu_milli * role.pods_per_replica / WHOLE_GPU_MILLI
            for column, replicas in way.replicas:
                yield Posting(job, way.option.gpu_type, column, replicas * gpus)
        for stay, column in own.stays:
            for gpu_type in {load.gpu_type for load in stay.loads}:
                loads = (load for load in stay.loads if load.gpu_type == gpu_type)
                milli = sum(load.pods * load.shape.gpu_milli for load in loads)
                yield Posting(job, gpu_type, column, milli / WHOLE_GPU_MILLI)


def _least_held(shares: Iterable[Shares], *, with_companions: bool) -> Iterator[Posting]:
    services = list[Shares]()
    for own in shares:
        if not own.job_class.job.gang:
            services.append(own)
            continue
        job = own.job_class.job
        columns = [(way.option.gpu_type, way.count) for way in own.ways]
        columns += [(stay.gpu_type, column) for stay, column in own.stays]
        for gpu_type, column in columns:
            gpus = job.roles[0].least_gpu_milli / WHOLE_GPU_MILLI
            yield Posting(job, gpu_type, column, gpus)
            for role in job.companions if with_companions else ():
                gpus = role.least_gpu_milli / WHOLE_GPU_MILLI
                for kind in role.yields:
                    yield Posting(job, kind, column, gpus)
    yield from _held(services)
