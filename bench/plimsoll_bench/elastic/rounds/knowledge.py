"""What is known of a job that reports its steps: models by GPU type, and rates at any size.

A type on which the job never ran is judged by one where it did, times the known ratio of their
speeds with one GPU. For a job that never ran anywhere there are only these ratios.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from plimsoll_placement.estimate.throughput.best_batch import Batches, BatchLimits, best_batches
from plimsoll_placement.estimate.throughput.fitting import fitted
from plimsoll_placement.estimate.throughput.noise import Floats, GradientNoise
from plimsoll_placement.estimate.throughput.samples import Sample
from plimsoll_placement.estimate.throughput.scaling import Scaling


@lru_cache(maxsize=65_536)
def model_of(samples: frozenset[Sample]) -> Scaling:
    """The model of a set of samples, cached because many jobs ask for the same repeatedly."""
    return fitted(samples)


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a job's own runs have shown.

    `samples` by GPU type, one for each size and local batch that was run. `single_rate` is the
    speed of one GPU of each type, in any unit. `noise` is None until the job has run.
    """

    limits: Mapping[str, BatchLimits]
    single_rate: Mapping[str, float]
    samples: Mapping[str, frozenset[Sample]] = field(default_factory=dict[str, frozenset[Sample]])
    noise: GradientNoise | None = None

    @property
    def has_run(self) -> bool:
        """Whether anything was measured."""
        return self.noise is not None and any(self.samples.values())

    def most_replicas(self, gpu_type: str) -> int:
        """The most replicas that it has run with on a type; 0 if it never did."""
        return max((s.replicas for s in self.samples.get(gpu_type, ())), default=0)

    def batches(
        self, gpu_type: str, nodes: Floats, replicas: Floats, limits: BatchLimits | None = None
    ) -> Batches | None:
        """Rates and batches at sizes on a type where it has run; None where it has not."""
        samples = self.samples.get(gpu_type)
        if self.noise is None or not samples:
            return None
        return best_batches(
            model_of(samples),
            self.noise,
            limits or self.limits[gpu_type],
            nodes=nodes,
            replicas=replicas,
        )

    def rates(self, gpu_type: str, sizes: Iterable[tuple[int, int]]) -> Floats | None:
        """Progress per second at sizes (nodes, replicas); None before the job has run anywhere."""
        known = [kind for kind in self.single_rate if self.samples.get(kind)]
        if not known or self.noise is None:
            return None
        nodes, replicas = np.array(list(sizes), dtype=np.float64).T
        like = gpu_type if self.samples.get(gpu_type) else known[0]
        found = self.batches(like, nodes, replicas)
        if found is None:
            return None
        return found.rate * (self.single_rate[gpu_type] / self.single_rate[like])
