"""A parametric model of a training step, to predict its time at sizes that were not tried.

The form is that of Qiao et al., "Pollux" (OSDI 2021), which Jayaram Subramanya et al., "Sia" (SOSP
2023), use for each GPU type: computing grows linearly with the local batch, synchronising with the
replicas, at one rate within a node and another across nodes, and the two partly overlap.
"""

from dataclasses import dataclass

import numpy as np

from plimsoll_placement.estimate.throughput.noise import Floats

Number = float | Floats
"""A single model has numbers; many compared at once have a column of them each."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """The parameters of one job on one GPU type; all in seconds except `overlap`.

    `overlap` is 1 if computing and synchronising follow each other; the larger, the more they hide
    each other.
    """

    compute: Number
    compute_per_sample: Number
    within: Number
    within_per_replica: Number
    across: Number
    across_per_replica: Number
    overlap: Number = 1.0

    def slower(self, factor: float) -> "Scaling":
        """The same job where everything takes `factor` times as long."""
        return Scaling(
            self.compute * factor,
            self.compute_per_sample * factor,
            self.within * factor,
            self.within_per_replica * factor,
            self.across * factor,
            self.across_per_replica * factor,
            self.overlap,
        )

    def compute_seconds(self, local_batch: Floats) -> Floats:
        """Forward and backward pass over a local batch."""
        return self.compute + self.compute_per_sample * local_batch

    def sync_seconds(self, nodes: Floats, replicas: Floats) -> Floats:
        """Exchange of gradients; none for a single replica."""
        beyond = np.maximum(replicas - 2.0, 0.0)
        within = self.within + self.within_per_replica * beyond
        across = self.across + self.across_per_replica * beyond
        return np.where(nodes > 1, across, np.where(replicas > 1, within, 0.0))

    def step_seconds(self, nodes: Floats, replicas: Floats, local_batch: Floats) -> Floats:
        """A whole step: computing, plus the part of synchronising that it does not hide."""
        compute = self.compute_seconds(local_batch)
        sync = self.sync_seconds(nodes, replicas)
        longer, shorter = np.maximum(compute, sync), np.minimum(compute, sync)
        return longer * (1.0 + (shorter / longer) ** self.overlap) ** (1.0 / self.overlap)
