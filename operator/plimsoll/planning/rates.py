"""What does a role yield at each count on each GPU type? From measured points to useful GPUs.

A job's rates are compared with its own best rate per GPU, so that jobs that count steps and jobs
that count tokens weigh alike: a useful GPU is one GPU of the type and count that suit the job best.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from plimsoll.api.training_job import TrainingJobSpec

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


def training_yields(spec: TrainingJobSpec, counts: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Useful milli-GPUs by GPU type at each of `counts`."""
    curves = {
        accelerator.type: {p.workers: Fraction(p.rate) for p in accelerator.throughput}
        for accelerator in spec.accelerators
    }
    rates = {kind: [rate_at(points, n) for n in counts] for kind, points in curves.items()}
    gpus = Fraction(spec.workers.gpus_per_worker)
    best = max(
        rate / (n * gpus) for of in rates.values() for rate, n in zip(of, counts, strict=True)
    )
    return {
        kind: tuple(int(rate / best * WHOLE_MILLI) for rate in of) for kind, of in rates.items()
    }
