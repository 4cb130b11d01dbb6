"""Measurements of a training job: seconds per step, by size and local batch."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from plimsoll_placement.estimate.throughput.noise import Floats


@dataclass(frozen=True, slots=True, order=True)
class Sample:
    """One measured step: its nodes, its replicas, and the samples on each replica.

    `sync_seconds` is the part of the step in which replicas wait for each other's gradients.
    """

    nodes: int
    replicas: int
    local_batch: int
    step_seconds: float
    sync_seconds: float


@dataclass(frozen=True, slots=True)
class Measured:
    """Samples as columns."""

    nodes: Floats
    replicas: Floats
    local_batch: Floats
    step_seconds: Floats
    compute_seconds: Floats


def measured(samples: Iterable[Sample]) -> Measured:
    """Samples as columns, which is what a fit needs."""
    rows = np.array(
        [(s.nodes, s.replicas, s.local_batch, s.step_seconds, s.sync_seconds) for s in samples],
        dtype=np.float64,
    )
    nodes, replicas, local_batch, step, sync = rows.T
    return Measured(nodes, replicas, local_batch, step, np.maximum(step - sync, 1e-9))
