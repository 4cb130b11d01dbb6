"""Model a job's step time at sizes and with batches where it never ran.

Where a job states a single rate for a GPU type, nothing says how it scales there. How long its
steps take does, at several sizes and with several batches. To these a model is fitted for each type
where it has run (`plimsoll_placement/estimate/throughput/fitting.py`), in which the stated rate
counts as one more step until that size has been measured; on the others the job is taken to scale
alike, at the stated ratio of speeds. Where it states several rates for a type, those are its curve,
and measurements correct it (`rates.py`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Self

import numpy as np

from plimsoll.api.parts.assumed_accelerators import LearnedAccelerator
from plimsoll.api.parts.gang import ThroughputPoint
from plimsoll.api.parts.progress import MeasuredRate
from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.training.batch_limits import least_batch, ranks_per_worker
from plimsoll.rounding import in_steps
from plimsoll_placement.estimate.throughput.curves import Size
from plimsoll_placement.estimate.throughput.fitting import fitted
from plimsoll_placement.estimate.throughput.noise import Floats, GradientNoise
from plimsoll_placement.estimate.throughput.samples import Sample
from plimsoll_placement.estimate.throughput.scaling import Scaling

_SEVERAL_NODES = 2.0
"""The models distinguish one node from several, and no more."""
GROWTH_DOUBT = 1.0
"""Steps do not show how much of them is waiting. If that may be little, it is taken to be little,
so that the job is tried at larger sizes, where it shows."""
_STEPS_TO_DOUBLE = 128
"""Steps of half a percent: two batches' times may differ by little more."""


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Models of a job's steps by GPU type, and how many of its workers a node has.

    `across_from`: by type the fewest workers that were seen on several nodes.
    """

    models: Mapping[str, Scaling]
    across_from: Mapping[str, int]

    @classmethod
    def of(cls, job: TrainingJob, stated: Mapping[Size, float], noise: GradientNoise) -> Self:
        """What the job's measurements show; `stated` are its rates by its spec."""
        seen = _samples(job, noise)
        models = {kind: _fitted(frozenset(of)) for kind, of in seen.items()}
        like = max(models, key=lambda kind: (len(seen[kind]), kind), default="")
        plain = [each.type for each in job.spec.accelerators if len(each.throughput) == 1]
        for kind in plain:
            ratio = _ratio(stated, like, kind)
            if kind not in models and ratio is not None:
                models[kind] = models[like].slower(ratio)
        across: dict[str, int] = {}
        for each in (*job.status.measured, *learned_steps(job)):
            if (each.nodes or 1) > 1:
                across[each.type] = min(across.get(each.type, each.workers), each.workers)
        return cls({kind: models[kind] for kind in plain if kind in models}, across)

    def nodes(self, sizes: Sequence[Size]) -> Floats:
        """How many nodes each size takes: one, or several, where it was seen to take several."""
        return np.array(
            [
                _SEVERAL_NODES if n >= self.across_from.get(kind, math.inf) else 1.0
                for kind, n in sizes
            ]
        )


def learned_steps(job: TrainingJob) -> Iterator[MeasuredRate]:
    """The steps of jobs that run the same program, on types of which this job says nothing."""
    for each in job.spec.accelerators:
        if isinstance(each, LearnedAccelerator):
            yield from each.steps


def _samples(job: TrainingJob, noise: GradientNoise) -> dict[str, set[Sample]]:
    """The steps of each GPU type on which any was measured, and the one that its rate states.

    They are rounded, so that not every report needs another model.
    """
    ranks, found = ranks_per_worker(job), dict[str, set[Sample]]()
    kinds = {accelerator.type for accelerator in job.spec.accelerators}
    known = [
        each
        for each in job.status.measured
        if each.type in kinds and each.rate and each.step_seconds and each.batch
    ]
    tried = {(each.type, each.workers) for each in known}
    others = (each for each in learned_steps(job) if (each.type, each.workers) not in tried)
    for each in (*known, *others):
        found.setdefault(each.type, set()).add(_measured_sample(each, ranks))
    stated = [each for each in job.spec.accelerators if not each.is_assumed]
    for accelerator in stated if known else ():
        point = accelerator.throughput[0]
        if accelerator.type in found and (accelerator.type, point.workers) not in tried:
            of_a_sample = _units_of_a_sample(job, known, noise)
            for sample in _stated_sample(job, accelerator.type, point, of_a_sample):
                found[accelerator.type].add(sample)
    return found


def _measured_sample(measured: MeasuredRate, ranks_per_worker: int) -> Sample:
    passes, ranks = measured.accumulation or 1, measured.workers * ranks_per_worker
    local = max((measured.batch or 1) // (passes * ranks), 1)
    return _sample(measured.nodes or 1, ranks, local, passes, float(measured.step_seconds or 0))


def _stated_sample(
    job: TrainingJob, kind: str, point: ThroughputPoint, of_a_sample: float
) -> Iterator[Sample]:
    """The step with the smallest batch, on one node, that has the stated rate."""
    least = least_batch(job, kind, point.workers)
    if least is not None:
        seconds = least.size * of_a_sample / float(point.rate)
        yield _sample(1, least.replicas, least.local_batch, least.passes, seconds)


def _sample(nodes: int, ranks: int, local: int, passes: int, seconds: float) -> Sample:
    rounded = in_steps(seconds, _STEPS_TO_DOUBLE)
    return Sample(nodes, ranks, local, rounded, passes=passes)


def _units_of_a_sample(
    job: TrainingJob, measured: Sequence[MeasuredRate], noise: GradientNoise
) -> float:
    """How many units of the job's work a sample of the smallest batch is, as far as is known."""
    work, batch = job.spec.work, job.spec.batch
    if batch is None or (work is not None and work.unit == "samples"):
        return 1.0
    smallest = batch.size
    return median(
        float(each.rate) * float(each.step_seconds or 0) / smallest / float(gain)
        for each in measured
        for gain in noise.gain(np.array([(each.batch or smallest) / smallest]))
    )


@lru_cache(maxsize=16_384)
def _fitted(samples: frozenset[Sample]) -> Scaling:
    return fitted(samples, GROWTH_DOUBT)


def _ratio(stated: Mapping[Size, float], like: str, kind: str) -> float | None:
    """How many times as long everything takes on a type as on another, as stated."""
    count = min((n for of, n in stated if of == kind and (like, n) in stated), default=None)
    return None if count is None else stated[like, count] / stated[kind, count]
