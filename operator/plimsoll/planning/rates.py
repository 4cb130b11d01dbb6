"""What does a role yield at each count on each GPU type? From measured points to useful GPUs.

A job's rates are compared with its own best rate per GPU, so that jobs that count steps and jobs
that count tokens weigh alike: a useful GPU is one GPU of the type and count that suit the job best.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from plimsoll.api.training_job import TrainingJob
from plimsoll_placement.throughput.curves import MeasuredRate, Size, corrected_rates

WHOLE_MILLI = 1000
STEPS_TO_DOUBLE = 32


def rate_at(points: Mapping[int, Fraction], workers: int) -> Fraction:
    """The rate at a worker count: a line through the two points beside it.

    Below the first point in proportion to the count; beyond the last along the last line, which
    never falls and never promises more than proportion; with a single point in proportion.
    """
    known = sorted(points)
    if workers in points:
        return points[workers]
    if workers < known[0] or len(known) == 1:
        return points[known[0]] * workers / known[0]
    if workers > known[-1]:
        below, above = known[-2], known[-1]
        most = points[above] * workers / above
        return min(most, max(points[above], _on_line(points, below, above, workers)))
    above = next(count for count in known if count > workers)
    below = max(count for count in known if count < workers)
    return _on_line(points, below, above, workers)


def _on_line(points: Mapping[int, Fraction], below: int, above: int, workers: int) -> Fraction:
    slope = (points[above] - points[below]) / (above - below)
    return points[below] + slope * (workers - below)


def stated_rates(job: TrainingJob, counts: Iterable[int]) -> dict[Size, Fraction]:
    """Units of work a second by GPU type and worker count, as the job's spec has them."""
    curves = {
        accelerator.type: {p.workers: Fraction(p.rate) for p in accelerator.throughput}
        for accelerator in job.spec.accelerators
    }
    every = tuple(counts)
    return {(kind, n): rate_at(points, n) for kind, points in curves.items() for n in every}


def expected_rates(job: TrainingJob, counts: Iterable[int]) -> dict[Size, Fraction]:
    """The same, corrected by what the job's workers have reported, also where it never ran.

    Corrections go in steps of about 2 %, lest each report be a reason to plan anew.
    """
    measured = [
        MeasuredRate(each.type, each.workers, float(each.rate), each.seconds)
        for each in job.status.measured
        if each.rate > 0 and each.seconds > 0
    ]
    wanted = set(counts)
    stated = stated_rates(job, wanted | {each.replicas for each in measured})
    if measured:
        plain = {size: float(rate) for size, rate in stated.items()}
        known = corrected_rates(plain, measured)
        stated = {size: rate * _step(known[size] / plain[size]) for size, rate in stated.items()}
    return {size: rate for size, rate in stated.items() if size[1] in wanted}


def _step(factor: float) -> Fraction:
    return Fraction(2.0 ** (round(math.log2(factor) * STEPS_TO_DOUBLE) / STEPS_TO_DOUBLE))


def training_yields(job: TrainingJob, counts: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Useful milli-GPUs by GPU type at each of `counts`."""
    rates = expected_rates(job, counts)
    gpus = Fraction(job.spec.workers.gpus_per_worker)
    best = max(rate / (n * gpus) for (_, n), rate in rates.items())
    kinds = [accelerator.type for accelerator in job.spec.accelerators]
    return {kind: tuple(int(rates[kind, n] / best * WHOLE_MILLI) for n in counts) for kind in kinds}
