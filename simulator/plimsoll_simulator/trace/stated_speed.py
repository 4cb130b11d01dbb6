"""A training job that is as fast as its manifest says."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plimsoll.api.training_job import TrainingJob
from plimsoll_simulator.programs.training import Gang, Pace


@dataclass(frozen=True, slots=True)
class StatedSpeed:
    """The rates of `throughput`, interpolated between worker counts and in proportion beyond.

    `types`: what the GPU type of each node is called.
    """

    job: TrainingJob
    types: Mapping[str, str]

    def __call__(self, gang: Gang, _done: float, /) -> Pace:
        """Its pace, which does not change."""
        spec = self.job.spec
        gpu_type = self.types[next(iter(gang.gpus_by_node))]
        points = next(each.throughput for each in spec.accelerators if each.type == gpu_type)
        workers = [math.log(point.workers) for point in points]
        each = [math.log(float(point.rate) / point.workers) for point in points]
        count = gang.gpus * 1000 / spec.workers.milli_gpus_per_worker
        return Pace(count * math.exp(float(np.interp(math.log(count), workers, each))))
