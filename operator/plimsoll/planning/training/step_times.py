"""Model a job's step time at sizes and with batches where it never ran.

Where a job states a single rate for a GPU type, nothing says how it scales there. How long its
steps take does, at several sizes and with several batches. To these a model is fitted for each type
where it has run (`plimsoll_placement/estimate/throughput/fitting.py`); on the others the job is
taken to scale alike, at the stated ratio of speeds. Where it states several rates for a type, those
are its curve, and measurements correct it (`rates.py`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

from plimsoll.api.parts.progress import MeasuredRate
from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.rounding import in_steps
from plimsoll.planning.training.batch_limits import ranks_per_worker
from plimsoll_placement.estimate.throughput.curves import Size
from plimsoll_placement.estimate.throughput.fitting import fitted
from plimsoll_placement.estimate.throughput.noise import Floats
from plimsoll_placement.estimate.throughput.samples import Sample
from plimsoll_placement.estimate.throughput.scaling import Scaling

_SEVERAL_NODES = 2.0
"""The models distinguish one node from several, and no more."""
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
    def of(cls, job: TrainingJob, stated: Mapping[Size, float]) -> Self:
        """What the job's measurements show; `stated` are its rates by its spec."""
        seen = _samples(job)
        models = {kind: _fitted(frozenset(of)) for kind, of in seen.items()}
        like = max(models, key=lambda kind: (len(seen[kind]), kind), default="")
        plain = [each.type for each in job.spec.accelerators if len(each.throughput) == 1]
        for kind in plain:
            ratio = _ratio(stated, like, kind)
            if kind not in models and ratio is not None:
                models[kind] = models[like].slower(ratio)
        across: dict[str, int] = {}
        for each in job.status.measured:
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


def _samples(job: TrainingJob) -> dict[str, set[Sample]]:
    """The measured steps, by GPU type; rounded, so that not every report needs another model."""
    ranks, found = ranks_per_worker(job), dict[str, set[Sample]]()
    kinds = {accelerator.type for accelerator in job.spec.accelerators}
    for each in job.status.measured:
        for sample in _sample(each, ranks) if each.type in kinds else ():
            found.setdefault(each.type, set()).add(sample)
    return found


def _sample(measured: MeasuredRate, ranks_per_worker: int) -> Iterator[Sample]:
    if not measured.step_seconds or not measured.batch:
        return
    passes, ranks = measured.accumulation or 1, measured.workers * ranks_per_worker
    local = max(measured.batch // (passes * ranks), 1)
    seconds = in_steps(float(measured.step_seconds), _STEPS_TO_DOUBLE)
    # A single rank waits for nobody.
    sync = 0.0 if ranks == 1 else None
    yield Sample(measured.nodes or 1, ranks, local, seconds, sync, passes)


@lru_cache(maxsize=16_384)
def _fitted(samples: frozenset[Sample]) -> Scaling:
    return fitted(samples)


def _ratio(stated: Mapping[Size, float], like: str, kind: str) -> float | None:
    """How many times as long everything takes on a type as on another, as stated."""
    count = min((n for of, n in stated if of == kind and (like, n) in stated), default=None)
    return None if count is None else stated[like, count] / stated[kind, count]
