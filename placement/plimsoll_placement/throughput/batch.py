"""Which batch is best at a size? The most progress a second within what the job allows."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plimsoll_placement.throughput.noise import Floats, GradientNoise
from plimsoll_placement.throughput.scaling import Scaling

TRIED = 50
"""So many batch sizes between the smallest and the largest are compared, in equal ratios."""

RATIOS = np.linspace(0.0, 1.0, TRIED)[:, None]

ROUNDING = 1e-8

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What batches a job admits: in all, and on one replica at a time (by its memory)."""

    smallest: int
    largest: int
    local_least: int
    local_most: int


@dataclass(frozen=True, slots=True)
class Batches:
    """For each size: progress a second in steps of the smallest batch, and the batch for it.

    `passes` is how many local batches a replica computes in one step: one more than the steps of
    gradient accumulation. Where no batch is allowed, the rate is 0. A size whose replicas cannot
    have as little as the largest batch comes to is judged by the least that they can have.
    """

    rate: Floats
    local_batch: Ints
    passes: Ints


def best_batches(
    scaling: Scaling, noise: GradientNoise, limits: BatchLimits, *, nodes: Floats, replicas: Floats
) -> Batches:
    """The batch with the highest goodput at each size."""
    least = np.maximum(limits.smallest, limits.local_least * replicas)
    local = least * (limits.largest / least) ** RATIOS / replicas
    passes = np.ceil(local / limits.local_most - ROUNDING)
    # With a single local batch to a step nothing can be told of the gradients' noise.
    alone = (replicas == 1) & (local > limits.smallest + ROUNDING)
    passes = np.where(alone, np.maximum(passes, 2.0), np.maximum(passes, 1.0))
    split = np.ceil(local / passes - ROUNDING)
    seconds = scaling.step_seconds(nodes, replicas, split)
    seconds = seconds + (passes - 1.0) * scaling.compute_seconds(split)
    rate = noise.gain(replicas * split * passes / limits.smallest) / seconds
    allowed = (limits.local_least <= split) & (split <= limits.local_most)
    rate = np.where(allowed, rate, 0.0)
    row = np.argmax(rate, axis=0)
    column: Ints = np.arange(len(row))
    return Batches(
        rate[row, column],
        split[row, column].astype(np.int64),
        passes[row, column].astype(np.int64),
    )
