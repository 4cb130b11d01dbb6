"""What does a role yield at each count on each GPU type? From measured points to useful GPUs.

A job's rates are compared with its own best rate per GPU, so that jobs that count steps and jobs
that count tokens weigh alike: a useful GPU is one GPU of the type and count that suit the job best.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction

from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.goodput import Goodput, Run, Terms
from plimsoll.planning.rounding import in_fiftieths
from plimsoll_placement.throughput.curves import MeasuredRate, Size, corrected_rates

WHOLE_MILLI = 1000


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

    Where the batch may grow, each size has the best one, but the size that runs has its own.
    Corrections go in steps of about 2 %, lest each report be a reason to plan anew.
    """
    wanted = set(counts)
    terms = Terms.of(job)
    if terms is not None:
        return _best_rates(job, known_goodput(job, terms, wanted), wanted)
    measured = [run.rate for run in _runs(job)]
    stated = stated_rates(job, wanted | {each.replicas for each in measured})
    if measured:
        stated = _corrected(stated, corrected_rates(_plain(stated), measured))
    return {size: rate for size, rate in stated.items() if size[1] in wanted}


def known_goodput(job: TrainingJob, terms: Terms, counts: Iterable[int]) -> Goodput:
    """What is known of the job with any batch, at these counts and at those that were measured."""
    runs = _runs(job)
    points = {each.workers for kind in job.spec.accelerators for each in kind.throughput}
    stated = stated_rates(job, {*counts, *points, *(run.rate.replicas for run in runs)})
    known = [run for run in runs if run.size in stated]
    return Goodput.known(terms, _plain(stated), known)


def _best_rates(job: TrainingJob, known: Goodput, wanted: AbstractSet[int]) -> dict[Size, Fraction]:
    stated = stated_rates(job, wanted)
    placement = job.status.placement
    batches = {size: division.size for size, division in known.best(stated).items()}
    if placement is not None and placement.batch is not None:
        here = (placement.accelerator_type, placement.workers)
        if here in batches and known.rate(here, placement.batch.size) > 0:
            batches[here] = placement.batch.size
    rates = {size: known.rate(size, batch) for size, batch in batches.items()}
    return _corrected(stated, {size: rates.get(size, known.rates[size]) for size in stated})


def _runs(job: TrainingJob) -> list[Run]:
    """What was measured with batches that the job still allows."""
    batch = job.spec.batch
    allowed = (batch.size, batch.max_size or batch.size) if batch else (0, 0)
    return [
        Run(samples, MeasuredRate(each.type, each.workers, float(each.rate), each.seconds))
        for each in job.status.measured
        if each.rate > 0 and each.seconds > 0
        for samples in (each.batch or 0,)
        if allowed[0] <= samples <= allowed[1]
    ]


def _plain(rates: Mapping[Size, Fraction]) -> dict[Size, float]:
    return {size: float(rate) for size, rate in rates.items()}


def _corrected(
    stated: Mapping[Size, Fraction], known: Mapping[Size, float]
) -> dict[Size, Fraction]:
    return {size: rate * in_fiftieths(known[size] / float(rate)) for size, rate in stated.items()}


def training_yields(job: TrainingJob, counts: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Useful milli-GPUs by GPU type at each of `counts`."""
    rates = expected_rates(job, counts)
    gpus = Fraction(job.spec.workers.gpus_per_worker)
    best = max(rate / (n * gpus) for (_, n), rate in rates.items())
    kinds = [accelerator.type for accelerator in job.spec.accelerators]
    return {kind: tuple(int(rates[kind, n] / best * WHOLE_MILLI) for n in counts) for kind in kinds}
