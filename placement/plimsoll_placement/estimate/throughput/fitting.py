"""Fit the model's parameters to measured steps: damped least squares on logarithms.

What was never seen is assumed to be free (no waiting across nodes before the job ran on two), so
that a job is tried at larger sizes; this optimism is Pollux's. Errors count proportionally, since a
step of a second and one of ten milliseconds matter alike.
"""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from plimsoll_placement.estimate.throughput.noise import Floats
from plimsoll_placement.estimate.throughput.samples import Measured, Sample, measured
from plimsoll_placement.estimate.throughput.scaling import Scaling

NOTHING = 1e-8
"""Seconds: assumed for a time that was never seen, to keep logarithms finite."""

ACROSS_OVER_WITHIN = 1.1
"""How many times waiting within a node waiting across nodes costs at least, until measured."""

MOST_OVERLAP = 10.0
ROUNDS = 60
CLOSE_ENOUGH, NO_GAIN = 1e-7, 1e-12
MOST_DAMPING = 1e6
"""A damping so large that no direction improves."""

STEP = 1e-5
MOST_DOUBTED = 1e3

START_DOUBT = 0.01
"""The penalty on leaving the initial parameters, as a root: what no sample informs stays there."""

GROWTH_DOUBT = 0.1
OVERLAP_DOUBT = 0.03
"""The penalties on growth of waiting per replica, unless it is given, and on overlap, as roots."""

Residuals = Callable[[Floats], Floats]


def fitted(samples: Iterable[Sample], growth_doubt: float = GROWTH_DOUBT) -> Scaling:
    """The model that best explains samples of one job on one GPU type; at least one sample.

    The larger `growth_doubt`, the more is put down to computing rather than to waiting that grows
    with the replicas, where the samples leave that open.
    """
    seen = measured(sorted(samples, key=_sizes))
    start, free = _start(seen)
    before = start[free]

    def residuals(columns: Floats) -> Floats:
        moved = START_DOUBT * (columns - before[:, None])
        errors = _residuals(seen, _columns(start, free, columns), growth_doubt)
        return np.concatenate([errors, moved])

    found = _least_squares(residuals, before)
    return _optimistic(seen, _scaling(_columns(start, free, found[:, None])[:, 0]))


def _sizes(sample: Sample) -> tuple[float, ...]:
    """Sort key, so that the same samples always give the same model."""
    sizes = sample.nodes, sample.replicas, sample.local_batch, sample.passes
    return (*sizes, sample.step_seconds, sample.sync_seconds or 0.0)


def _start(seen: Measured) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Initial parameters, in logarithms, and which of them the samples inform."""
    several = seen.replicas > 1
    across, within = bool(np.any(seen.nodes > 1)), bool(np.any(several & (seen.nodes == 1)))
    many = bool(np.any(seen.replicas > 2))  # noqa: PLR2004  # growth shows beyond a pair
    sizes = len(np.unique(seen.local_batch)) > 1
    known = seen.compute_seconds[~np.isnan(seen.compute_seconds)]
    compute = float(np.mean(known if len(known) else seen.step_seconds / seen.passes))
    guess = np.array(
        [
            compute / 2,
            compute / 2 / float(np.mean(seen.local_batch)),
            compute / 5 if within else NOTHING,
            compute / 50 if within and many else NOTHING,
            compute / 5 if across else NOTHING,
            compute / 50 if across and many else NOTHING,
            0.5,
        ]
    )
    free = np.array(
        [sizes, True, within, within and many, across, across and many, within or across]
    )
    return np.log(guess), free


def _columns(start: Floats, free: npt.NDArray[np.bool_], part: Floats) -> Floats:
    whole = np.repeat(start[:, None], part.shape[1], axis=1)
    whole[free] = part
    return whole


def _scaling(logarithms: Floats) -> Scaling:
    bounded = np.exp(np.clip(logarithms, -20.0, 12.0))
    return Scaling(*bounded[:6], overlap=1.0 + np.minimum(bounded[6], MOST_OVERLAP - 1.0))


def _residuals(seen: Measured, columns: Floats, growth_doubt: float) -> Floats:
    """The residuals of each column of parameters, one column for each."""
    model = _scaling(columns[:, :, None])
    each = 1.0 / np.sqrt(len(seen.nodes))
    compute = model.compute_seconds(seen.local_batch)
    step = model.step_seconds(seen.nodes, seen.replicas, seen.local_batch)
    computing = np.nan_to_num(np.log(compute / seen.compute_seconds))
    steps = np.log((step + (seen.passes - 1.0) * compute) / seen.step_seconds)
    doubts = [
        growth_doubt * np.minimum(model.within_per_replica / model.within, MOST_DOUBTED),
        growth_doubt * np.minimum(model.across_per_replica / model.across, MOST_DOUBTED),
        OVERLAP_DOUBT * (model.overlap - 1.0),
    ]
    return np.concatenate([computing * each, steps * each, *doubts], axis=1).T


def _least_squares(residuals: Residuals, start: Floats) -> Floats:
    """The Levenberg-Marquardt method, with finite differences for derivatives."""
    at, damping = start, 1e-2
    shifts = np.concatenate([np.zeros((len(at), 1)), np.eye(len(at)) * STEP], axis=1)
    columns = residuals(at[:, None] + shifts)
    for _ in range(ROUNDS):
        error, slopes = columns[:, 0], (columns[:, 1:] - columns[:, :1]) / STEP
        normal, gradient = slopes.T @ slopes, slopes.T @ error
        moved = at - np.linalg.solve(normal + damping * np.eye(len(at)), gradient)
        there = residuals(moved[:, None] + shifts)
        gained = float(error @ error - there[:, 0] @ there[:, 0])
        if gained > 0:
            at, columns, damping = moved, there, damping / 5
            if gained < CLOSE_ENOUGH * float(error @ error) + NO_GAIN:
                break
        elif damping > MOST_DAMPING:
            break
        else:
            damping *= 8
    return at


def _optimistic(seen: Measured, model: Scaling) -> Scaling:
    """Set what was never seen to the least that it can be."""
    if np.any(seen.nodes > 1):
        return model
    return Scaling(
        model.compute,
        model.compute_per_sample,
        model.within,
        model.within_per_replica,
        np.maximum(model.across, ACROSS_OVER_WITHIN * model.within),
        np.maximum(model.across_per_replica, ACROSS_OVER_WITHIN * model.within_per_replica),
        model.overlap,
    )
