"""Measurements of a training job: seconds per step, by size and local batch."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from plimsoll_placement.estimate.throughput.noise import Floats

_SHORTEST_SECONDS = 1e-9


@dataclass(frozen=True, slots=True, order=True)
class Sample:
    """One measured step: its nodes, its replicas, and the samples that each replica has at once.

    A replica computes `passes` times as many in a step. `sync_seconds` is the part of the step in
    which replicas wait for each other's gradients; None if that is not known.
    """

    nodes: int
    replicas: int
    local_batch: int
    step_seconds: float
    sync_seconds: float | None = None
    passes: int = 1


@dataclass(frozen=True, slots=True)
class Measured:
    """Samples as columns; `compute_seconds` of a single pass is NaN where it is not known."""

    nodes: Floats
    replicas: Floats
    local_batch: Floats
    step_seconds: Floats
    compute_seconds: Floats
    passes: Floats


def measured(samples: Iterable[Sample]) -> Measured:
    """Samples as columns, which is what a fit needs."""
    rows = np.array([_row(sample) for sample in samples], dtype=np.float64)
    nodes, replicas, local_batch, step, sync, passes = rows.T
    compute = np.maximum(step - sync, _SHORTEST_SECONDS) / passes
    return Measured(nodes, replicas, local_batch, step, compute, passes)


def _row(sample: Sample) -> tuple[float, ...]:
    sync = np.nan if sample.sync_seconds is None else sample.sync_seconds
    sizes = sample.nodes, sample.replicas, sample.local_batch
    return (*sizes, sample.step_seconds, sync, sample.passes)
