"""The best batch at each size: the most progress per second within what the job allows."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from plimsoll_placement.estimate.throughput.noise import Floats, GradientNoise
from plimsoll_placement.estimate.throughput.scaling import Scaling

TRIED = 50
"""How many batch sizes between the smallest and the largest to compare, in equal ratios."""

RATIOS = np.linspace(0.0, 1.0, TRIED)[:, None]

ROUNDING = 1e-8

ANY_NUMBER = 2**31 - 1

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The batches that a job allows: in total, and on one replica at a time (by its memory).

    A replica computes at most `passes_most` local batches per step.
    """

    smallest: int
    largest: int
    local_least: int
    local_most: int
    passes_most: int = ANY_NUMBER


@dataclass(frozen=True, slots=True)
class Division:
    """How replicas divide a batch: each computes `passes` local batches per step."""

    replicas: int
    local_batch: int
    passes: int

    @property
    def size(self) -> int:
        """The samples of a step."""
        return self.replicas * self.local_batch * self.passes


@dataclass(frozen=True, slots=True)
class Batches:
    """For each size: progress per second in steps of the smallest batch, and the batch for it.

    `passes` is how many local batches a replica computes in one step: one more than the steps of
    gradient accumulation. If no batch is allowed, the rate is 0. A size whose replicas cannot go as
    low as the largest batch is judged by the least that they can have.
    """

    rate: Floats
    local_batch: Ints
    passes: Ints


@lru_cache(maxsize=65_536)
def least_division(limits: BatchLimits, replicas: int) -> Division | None:
    """The smallest batch that this many replicas can have, in the fewest passes; None if none.

    If the smallest batch is also the largest, it is exactly that, divided evenly.
    """
    smallest, largest, most = limits.smallest, limits.largest, limits.local_most
    if smallest == largest and smallest % replicas:
        return None
    first = max(1, -(-smallest // (replicas * most)))
    for passes in range(first, min(limits.passes_most, largest // replicas) + 1):
        step = replicas * passes
        local = max(limits.local_least, -(-smallest // step))
        if local <= most and local * step <= largest:
            return Division(replicas, local, passes)
    return None


def goodput(  # noqa: PLR0913 - the model, and a batch at each size
    scaling: Scaling,
    noise: GradientNoise,
    smallest: int,
    *,
    nodes: Floats,
    replicas: Floats,
    split: Floats,
    passes: Floats,
) -> Floats:
    """Progress per second, in steps of the smallest batch, with `passes` local batches per step."""
    seconds = scaling.step_seconds(nodes, replicas, split)
    seconds = seconds + (passes - 1.0) * scaling.compute_seconds(split)
    return noise.gain(replicas * split * passes / smallest) / seconds


def best_batches(
    scaling: Scaling, noise: GradientNoise, limits: BatchLimits, *, nodes: Floats, replicas: Floats
) -> Batches:
    """The batch with the highest goodput at each size."""
    least = np.maximum(limits.smallest, limits.local_least * replicas)
    local = least * (limits.largest / least) ** RATIOS / replicas
    passes = np.ceil(local / limits.local_most - ROUNDING)
    # A single local batch per step says nothing of the gradients' noise.
    alone = (replicas == 1) & (local > limits.smallest + ROUNDING)
    passes = np.where(alone, np.maximum(passes, 2.0), np.maximum(passes, 1.0))
    split = np.ceil(local / passes - ROUNDING)
    rate = goodput(
        scaling,
        noise,
        limits.smallest,
        nodes=nodes,
        replicas=replicas,
        split=split,
        passes=passes,
    )
    allowed = (limits.local_least <= split) & (split <= limits.local_most)
    rate = np.where(allowed & (passes <= limits.passes_most), rate, 0.0)
    row = np.argmax(rate, axis=0)
    column: Ints = np.arange(len(row))
    return Batches(
        rate[row, column],
        split[row, column].astype(np.int64),
        passes[row, column].astype(np.int64),
    )
