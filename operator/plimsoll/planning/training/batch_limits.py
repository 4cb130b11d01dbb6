"""The batch sizes and worker counts with which a job's spec lets it run.

A step takes `local batch x passes x ranks` samples. If the batch must stay the same at every size,
it must divide evenly, so counts that do not divide it are not allowed.
"""

from collections.abc import Sequence
from typing import Final

from plimsoll.api.parts.gang import ALL_UP_TO, Accelerator
from plimsoll.api.training_job import TrainingJob
from plimsoll.remembered import once_for_each
from plimsoll_placement.estimate.throughput.best_batch import (
    ANY_NUMBER,
    BatchLimits,
    Division,
    least_division,
)

MOST_SIZES: Final = 1024
"""The most sizes considered per job: counts on each of its types.

As many as `allowed` can have on the largest possible number of types; a range has more only with
more than eight types.
"""


def ranks_per_worker(job: TrainingJob) -> int:
    """How many processes of a worker each take part of the batch; a job without a batch has 1."""
    batch = job.spec.batch
    if batch is None:
        return 1
    return batch.ranks_per_worker or max(1, int(job.spec.workers.gpus_per_worker))


def batch_limits(job: TrainingJob) -> dict[str, BatchLimits]:
    """The batches that the job admits, by GPU type; empty if its spec says nothing of a batch."""
    batch = job.spec.batch
    if batch is None:
        return {}
    return {
        each.type: BatchLimits(
            smallest=batch.size,
            largest=batch.max_size or batch.size,
            local_least=1,
            local_most=each.max_local_batch or ANY_NUMBER,
            passes_most=batch.max_accumulation,
        )
        for each in job.spec.accelerators
    }


@once_for_each
def allowed_counts(job: TrainingJob) -> tuple[int, ...]:
    """The allowed worker counts, ascending: those that have a batch on every type.

    A job without any (`no_batch`) is not placed; if it runs, it may go on as it does.
    """
    found = _with_a_batch(job) or job.spec.workers.counts
    return _thinned(found, MOST_SIZES // len(job.spec.accelerators))


def _with_a_batch(job: TrainingJob) -> tuple[int, ...]:
    if job.spec.batch is None:
        return job.spec.workers.counts
    # What a rank can compute at once on this type, it can on all.
    tightest, ranks = batch_limits(job)[_tightest(job).type], ranks_per_worker(job)
    return tuple(
        count for count in _candidates(job) if least_division(tightest, count * ranks) is not None
    )


def _candidates(job: TrainingJob) -> tuple[int, ...]:
    """The counts considered; for a constant batch, those that divide it."""
    workers, batch = job.spec.workers, job.spec.batch
    if batch is None or batch.max_size is not None or workers.allowed:
        return workers.counts
    ranks = ranks_per_worker(job)
    even = [n for n in range(workers.min, workers.most + 1) if batch.size % (n * ranks) == 0]
    return _thinned(even, ALL_UP_TO)


def _thinned(counts: Sequence[int], most: int) -> tuple[int, ...]:
    """At most so many of some counts, evenly spread, including the first and the last."""
    if len(counts) <= most:
        return tuple(counts)
    return tuple(counts[place * (len(counts) - 1) // (most - 1)] for place in range(most))


def _tightest(job: TrainingJob) -> Accelerator:
    """The type on which a rank computes the fewest samples at once."""
    return min(job.spec.accelerators, key=_local_most)


@once_for_each
def no_batch(job: TrainingJob) -> str:
    """Why a job has no allowed count, and what to change; "" if it has one."""
    batch = job.spec.batch
    if batch is None or _with_a_batch(job):
        return ""
    counts, ranks = job.spec.workers.counts, ranks_per_worker(job)
    span = str(counts[0]) if len(counts) == 1 else f"any of {counts[0]} to {counts[-1]}"
    sizes = f"{batch.size}" if batch.max_size is None else f"{batch.size} to {batch.max_size}"
    least = _tightest(job)
    memory = "" if least.max_local_batch is None else f", {least.max_local_batch} at once"
    return (
        f"spec.batch: {sizes} samples cannot be divided among {span} workers of {ranks} ranks in at"
        f" most {batch.max_accumulation} passes{memory} ({least.type}): change batch.size or"
        " workers, raise batch.maxAccumulation or maxLocalBatch, or remove that type"
    )


def least_batch(job: TrainingJob, gpu_type: str, workers: int) -> Division | None:
    """The smallest batch at a size; None if the job has no batch, or cannot have one there."""
    limits = batch_limits(job).get(gpu_type)
    return None if limits is None else least_division(limits, workers * ranks_per_worker(job))


def _local_most(accelerator: Accelerator) -> int:
    return accelerator.max_local_batch or ANY_NUMBER
