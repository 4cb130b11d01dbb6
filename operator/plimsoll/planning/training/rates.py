"""Convert measured rates into a role's yield, in useful GPUs, at each count on each GPU type.

A job's rates are compared with its own best rate per GPU, so that jobs that count steps and jobs
that count tokens weigh alike: a useful GPU is one GPU of the type and count that suit the job best.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import lru_cache

import numpy as np

from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.training.batch_limits import allowed_counts
from plimsoll.planning.training.goodput import Goodput, GoodputTerms, Run
from plimsoll.planning.training.step_times import StepTimes, learned_steps
from plimsoll.remembered import once_for_each
from plimsoll.rounding import in_fiftieths
from plimsoll_placement.estimate.throughput.curves import (
    BY_ASSUMED_TYPE,
    BY_TYPE,
    MeasuredRate,
    Size,
    corrected_rates,
)
from plimsoll_placement.estimate.throughput.noise import Floats

WHOLE_MILLI = 1000
GROWTH = 2
"""A job may grow at once to this many times the workers that it is known with (Sia, 2023)."""
ROUNDING = 1e-6
"""Anything this close below a whole milli-GPU counts as whole; the gap is numerical error."""


def rates_at(points: Mapping[int, float], counts: Sequence[int]) -> Floats:
    """The rates at worker counts, interpolated between the two nearest points.

    Below the first point in proportion to the count; beyond the last along the last line, which
    never falls and never promises more than proportion; with a single point in proportion.
    """
    known = np.array(sorted(points), dtype=np.float64)
    rates = np.array([points[count] for count in sorted(points)])
    wanted = np.array(counts, dtype=np.float64)
    below, beyond = (rates[end] * wanted / known[end] for end in (0, -1))
    if len(known) == 1:
        return below
    slope = (rates[-1] - rates[-2]) / (known[-1] - known[-2])
    line = np.maximum(rates[-1], rates[-1] + slope * (wanted - known[-1]))
    within = np.where(wanted > known[-1], np.minimum(beyond, line), np.interp(wanted, known, rates))
    return np.where(wanted < known[0], below, within)


def stated_rates(job: TrainingJob, counts: Iterable[int]) -> dict[Size, float]:
    """Units of work per second by GPU type and worker count, as the job's spec states them."""
    every = tuple(counts)
    return _stated(job, {accelerator.type: every for accelerator in job.spec.accelerators})


def _stated(job: TrainingJob, counts: Mapping[str, Sequence[int]]) -> dict[Size, float]:
    found: dict[Size, float] = {}
    for accelerator in job.spec.accelerators:
        kind, points = accelerator.type, {p.workers: float(p.rate) for p in accelerator.throughput}
        wanted = counts[kind]
        rates = _interpolated(tuple(points.items()), tuple(wanted))
        found |= {(kind, n): rate for n, rate in zip(wanted, rates, strict=True)}
    return found


@lru_cache(2**10)
def _interpolated(
    points: tuple[tuple[int, float], ...], counts: tuple[int, ...]
) -> tuple[float, ...]:
    """The same as numbers; a job states the same whenever it reports."""
    return tuple(rates_at(dict(points), counts).tolist())


def expected_rates(job: TrainingJob, counts: Iterable[int]) -> dict[Size, float]:
    """The same, corrected by the workers' reports, also at sizes where the job never ran.

    If the batch may grow, each size has its best one, except that the running size has its own
    unless that can change without a restart. Such a job grows step by step: a size of more than
    twice the workers that it has stated or run with promises no more than the largest up to there.
    Corrections go in steps of about 2 %, so that not every report triggers a new plan.
    """
    known_as = _as_far_as_known(job, counts)
    rates = _expected(job, set(known_as.values()))
    kinds = [accelerator.type for accelerator in job.spec.accelerators]
    return {(kind, n): rates[kind, known] for kind in kinds for n, known in known_as.items()}


def _as_far_as_known(job: TrainingJob, counts: Iterable[int]) -> dict[int, int]:
    """Each count, and the one up to it of which something can be expected."""
    batch = job.spec.batch
    if batch is None or batch.max_size is None:
        return {count: count for count in counts}
    tried = [each.workers for each in (*job.status.measured, *learned_steps(job))]
    tried += [point.workers for each in job.spec.accelerators for point in each.throughput]
    allowed = allowed_counts(job)
    most = max((n for n in allowed if n <= GROWTH * max(tried)), default=allowed[0])
    return {count: min(count, most) for count in counts}


def _expected(job: TrainingJob, wanted: AbstractSet[int]) -> dict[Size, float]:
    terms = GoodputTerms.of(job)
    if terms is not None:
        return _best_rates(job, known_goodput(job, terms, wanted), wanted)
    measured = measured_rates(job)
    stated = _stated(job, _with_measured(job, wanted, measured))
    if measured:
        stated = _corrected(stated, corrected_rates(stated, measured, by_type=type_deviation(job)))
    return {size: rate for size, rate in stated.items() if size[1] in wanted}


def knows_its_unit(job: TrainingJob) -> bool:
    """Whether rates are in units of the job's work; otherwise only their ratios mean anything."""
    return states_its_unit(job) or bool(measured_rates(job))


def states_its_unit(job: TrainingJob) -> bool:
    """The same before anything of its own was measured."""
    return any(each.is_learned or not each.is_assumed for each in job.spec.accelerators)


@once_for_each
def best_rate(job: TrainingJob) -> float:
    """The best rate that a job can expect at any allowed size."""
    return max(expected_rates(job, allowed_counts(job)).values())


def known_goodput(job: TrainingJob, terms: GoodputTerms, counts: Iterable[int]) -> Goodput:
    """The job's goodput with any batch, at these counts and at those that were measured."""
    runs = [_at_present_noise(job, terms, run) for run in _runs(job)]
    wanted = _with_measured(job, set(counts), [run.rate for run in runs])
    points = {each.type: {p.workers for p in each.throughput} for each in job.spec.accelerators}
    stated = _stated(job, {kind: sorted({*of, *points[kind]}) for kind, of in wanted.items()})
    known = [run for run in runs if run.size in stated]
    steps = StepTimes.of(job, stated, terms.noise)
    return Goodput.known(terms, stated, known, steps, by_type=type_deviation(job))


def _with_measured(
    job: TrainingJob, counts: AbstractSet[int], measured: Iterable[MeasuredRate]
) -> dict[str, list[int]]:
    """The counts on each type, plus those at which the job was measured there."""
    wanted = {accelerator.type: set(counts) for accelerator in job.spec.accelerators}
    for each in measured:
        wanted.get(each.gpu_type, set[int]()).add(each.replicas)
    return {kind: sorted(of) for kind, of in wanted.items()}


def _best_rates(job: TrainingJob, known: Goodput, wanted: AbstractSet[int]) -> dict[Size, float]:
    stated = stated_rates(job, sorted(wanted))
    placement = job.status.placement
    rates = {size: best.rate for size, best in known.bests(stated).items()}
    if placement is not None and placement.batch is not None and not changes_batch_live(job):
        here = (placement.accelerator_type, placement.workers)
        as_it_is = known.rate(here, placement.batch.size) if here in rates else 0.0
        if as_it_is > 0:
            rates[here] = as_it_is
    return _corrected(stated, {size: rates.get(size, known.rates[size]) for size in stated})


def changes_batch_live(job: TrainingJob) -> bool:
    """Whether the workers change their batch without a restart, as far as they have said."""
    return job.status.progress is not None and job.status.progress.batch is not None


def _at_present_noise(job: TrainingJob, terms: GoodputTerms, run: Run) -> Run:
    """The measurement as it would be with the gradients' noise of today, where that is known.

    A measured rate includes the efficiency that the batch had then. Where work counts samples, the
    step time says what the rate is without.
    """
    work = job.spec.work
    if work is None or work.unit != "samples" or run.step_seconds is None:
        return run
    smallest = terms.limits[run.size[0]].smallest
    gain = float(terms.noise.gain(np.array([run.batch / smallest]))[0])
    return replace(run, rate=replace(run.rate, rate=gain * smallest / run.step_seconds))


def type_deviation(job: TrainingJob) -> float:
    """How far rates on a GPU type may be off, in logarithms: more where nobody knows any."""
    assumed = any(each.is_assumed and not each.is_learned for each in job.spec.accelerators)
    return BY_ASSUMED_TYPE if assumed else BY_TYPE


def measured_rates(job: TrainingJob) -> list[MeasuredRate]:
    """What was measured with batches and on types that the job still allows."""
    return [run.rate for run in _runs(job)]


def _runs(job: TrainingJob) -> list[Run]:
    """The measurements with batches that the job still allows, on types that it still names."""
    batch, kinds = job.spec.batch, {accelerator.type for accelerator in job.spec.accelerators}
    allowed = (batch.size, batch.max_size or batch.size) if batch else (0, 0)
    return [
        Run(
            each.batch or 0,
            MeasuredRate(each.type, each.workers, float(each.rate), each.seconds),
            float(each.step_seconds) if each.step_seconds else None,
        )
        for each in job.status.measured
        if each.rate > 0 and each.seconds > 0 and each.type in kinds
        if allowed[0] <= (each.batch or 0) <= allowed[1]
    ]


def _corrected(stated: Mapping[Size, float], known: Mapping[Size, float]) -> dict[Size, float]:
    return {size: rate * in_fiftieths(known[size] / rate) for size, rate in stated.items()}


def training_yields(job: TrainingJob, counts: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Useful milli-GPUs by GPU type at each of `counts`."""
    rates = expected_rates(job, counts)
    gpus = float(job.spec.workers.gpus_per_worker)
    best = max(rate / n for (_, n), rate in rates.items()) / gpus
    kinds = [accelerator.type for accelerator in job.spec.accelerators]
    return {
        kind: tuple(int(rates[kind, n] / best * WHOLE_MILLI + ROUNDING) for n in counts)
        for kind in kinds
    }
