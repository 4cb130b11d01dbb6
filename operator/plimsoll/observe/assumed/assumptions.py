"""Fill in how fast a job is where its spec leaves that out.

Speeds by GPU type are those that jobs of the same program have measured (`alike.py`), otherwise in
proportion to published figures (`gpu_figures.py`), and each doubling of the workers brings a little
less than the last. Their unit follows from what the job states of other types, or from what it has
reported, or from what those jobs have; before that, only ratios mean anything.

Plans see the filled job as one that states these rates, so what is measured corrects them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from statistics import geometric_mean, median
from typing import Final

from plimsoll.api.parts.assumed_accelerators import AssumedAccelerator, LearnedAccelerator
from plimsoll.api.parts.gang import (
    MOST_TYPES,
    Accelerator,
    ThroughputPoint,
    Workers,
)
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.assumed.alike import Learned
from plimsoll.observe.assumed.gpu_types import GpuTypes
from plimsoll.observe.assumed.scaling import GROWTH, scaled
from plimsoll.observe.readable import readable

_LEAST_RATE: Final = 1e-200

Curve = Mapping[int, float]
"""A rate by worker count."""


def leaves_out_speeds(job: TrainingJob) -> bool:
    """Whether a job states no rates for some GPU type that it may use."""
    return not job.spec.accelerators or any(not e.throughput for e in job.spec.accelerators)


def with_assumptions(job: TrainingJob, types: GpuTypes, learned: Learned) -> TrainingJob:
    """The job with a rate for each GPU type that it may use; the same object if it states all.

    `learned`: what jobs that run the same program have measured.
    """
    if not leaves_out_speeds(job):
        return job
    named = job.spec.accelerators or tuple(map(_named, _types_of(job, types, learned)))
    speeds = _speeds(job, [each.type for each in named], types, learned)
    curves = {each.type: _curve(job, speeds[each.type]) for each in named}
    unit = _unit(job, curves)
    filled = tuple(
        each if each.throughput else _assumed(each, curves[each.type], unit, learned)
        for each in named
    )
    return job.model_copy(update={"spec": job.spec.model_copy(update={"accelerators": filled})})


@dataclass(frozen=True, slots=True)
class _Filled:
    """A job as it is planned, and what that followed from."""

    job: TrainingJob
    types: GpuTypes
    learned: Learned
    filled: TrainingJob


class Assumptions:
    """Fills in jobs; returns the same object while nothing about it changes."""

    def __init__(self) -> None:
        self._known: dict[str, _Filled] = {}

    def of(self, job: TrainingJob, types: GpuTypes, learned: Learned) -> TrainingJob:
        """The job as planned; see `with_assumptions`."""
        known = self._known.get(job.metadata.uid)
        if known is None:
            filled = _filled_anew(job, types, learned)
        elif known.types is not types or known.learned is not learned:
            filled = _filled_anew(job, types, learned)
            if known.job is job and known.filled == filled:
                filled = known.filled
        elif known.job is job:
            return known.filled
        elif _follows_from_the_same(known.job, job):
            filled = _with_spec_of(known, job)
        else:
            filled = _filled_anew(job, types, learned)
        self._known[job.metadata.uid] = _Filled(job, types, learned, filled)
        return filled

    def forget_others(self, uids: AbstractSet[str]) -> None:
        """Forget all jobs but these."""
        self._known = {uid: known for uid, known in self._known.items() if uid in uids}


def _filled_anew(job: TrainingJob, types: GpuTypes, learned: Learned) -> TrainingJob:
    return readable(job, lambda: with_assumptions(job, types, learned)) or job


def _with_spec_of(known: _Filled, job: TrainingJob) -> TrainingJob:
    """The job with the same rates as before, and the same objects for them."""
    says_all = known.filled is known.job
    return job if says_all else job.model_copy(update={"spec": known.filled.spec})


def _follows_from_the_same(old: TrainingJob, new: TrainingJob) -> bool:
    """Whether all that a job's rates follow from is unchanged: most changes are of its status."""
    was, now = old.status.placement, new.status.placement
    placed = [each.accelerator_type if each is not None else None for each in (was, now)]
    return (
        old.spec is new.spec
        and placed[0] == placed[1]
        and old.status.measured == new.status.measured
    )


def _types_of(job: TrainingJob, types: GpuTypes, learned: Learned) -> tuple[str, ...]:
    """The types that a job may use: where it is and was, so that these stay, then the fastest."""
    placement = job.status.placement
    tried = [placement.accelerator_type] if placement is not None else []
    tried += [each.type for each in job.status.measured]
    admitted = types.admitted(job)
    speeds = _speeds(job, admitted, types, learned)
    fastest = sorted(admitted, key=lambda kind: (-speeds[kind], kind))
    found = dict.fromkeys((*tried, *fastest))
    return tuple(sorted([*found][:MOST_TYPES])) or (types.lacking(job),)


def _named(gpu_type: str) -> Accelerator:
    """A type by a name that need not be a label, if it stands for none of the cluster's."""
    return Accelerator.model_construct(type=gpu_type)


def _speeds(
    job: TrainingJob, kinds: Sequence[str], types: GpuTypes, learned: Learned
) -> dict[str, float]:
    """How fast one GPU of each type is.

    As the program's jobs have measured, on others by published figures in proportion; one of which
    nothing is published is like the others.
    """
    known = {kind: speed for kind in kinds if (speed := types.speed(kind)) is not None}
    usual = median(known.values()) if known else 1.0
    published = {kind: known.get(kind, usual) for kind in kinds}
    if not learned.rates:
        return published
    # Measured by one worker; what the figures say is of so many workers as the job has at least.
    per_worker = float(job.spec.workers.gpus_per_worker) * job.spec.workers.min ** (1 - GROWTH)
    measured = {kind: rate / per_worker for kind, rate in learned.rates.items()}
    ratios = [speed / _published(types, kind, usual) for kind, speed in measured.items()]
    factor = geometric_mean(ratios)
    return {kind: measured.get(kind, speed * factor) for kind, speed in published.items()}


def _published(types: GpuTypes, kind: str, usual: float) -> float:
    return types.speed(kind) or usual


def _curve(job: TrainingJob, speed: float) -> Curve:
    """The assumed rates on a type, in units of its GPUs' speed.

    A job with a batch gets one: how it scales follows from how long its steps take.
    """
    workers, gpus = job.spec.workers, float(job.spec.workers.gpus_per_worker)
    counts = [workers.min] if job.spec.batch is not None else [*_doublings(workers)]
    return {n: speed * gpus * workers.min * scaled(n / workers.min) for n in counts}


def _doublings(workers: Workers) -> Iterator[int]:
    count = workers.min
    while count < workers.most:
        yield count
        count *= 2
    yield workers.most


def _unit(job: TrainingJob, curves: Mapping[str, Curve]) -> float:
    """How many units of the job's work the assumed rates are, per unit of theirs; 1 if unknown."""
    stated = [
        float(point.rate) / _at(curves[each.type], point.workers)
        for each in job.spec.accelerators
        for point in each.throughput[:1]
    ]
    longest = max(
        (m for m in job.status.measured if m.type in curves),
        key=lambda each: each.seconds,
        default=None,
    )
    measured = float(longest.rate) / _at(curves[longest.type], longest.workers) if longest else 0.0
    found = [ratio for ratio in stated or [measured] if 0 < ratio < math.inf]
    return geometric_mean(found) if found else 1.0


def _at(curve: Curve, workers: int) -> float:
    least = min(curve)
    return curve[least] * scaled(workers / least)


def _assumed(
    accelerator: Accelerator, curve: Curve, unit: float, learned: Learned
) -> AssumedAccelerator:
    points = tuple(
        ThroughputPoint(workers=count, rate=_rate(rate * unit)) for count, rate in curve.items()
    )
    kind, most = accelerator.type, accelerator.max_local_batch
    if kind not in learned.rates:
        return AssumedAccelerator.model_construct(
            type=kind, throughput=points, max_local_batch=most
        )
    steps = learned.steps.get(kind, ())
    return LearnedAccelerator.model_construct(
        type=kind, throughput=points, max_local_batch=most, steps=steps
    )


def _rate(rate: float) -> Decimal:
    """A rate as specs have it: of six digits, above 0."""
    return Decimal(f"{min(max(rate, _LEAST_RATE), 1 / _LEAST_RATE):.6g}")
