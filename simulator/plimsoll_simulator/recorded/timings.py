"""Recorded step times on one GPU type, by placement and local batch.

`placements-TYPE.csv` has the columns placement (the replicas on each node, one digit per node),
local_bsz, step_time and sync_time; `scalability-TYPE.csv` has num_nodes and num_replicas instead of
the placement. Values between recorded points are interpolated linearly.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from plimsoll_placement.estimate.throughput.noise import Floats

Shape = tuple[int, ...]
"""The replicas on each node."""

NEIGHBOURS = 4


@dataclass(frozen=True, slots=True)
class Curve:
    """Seconds of a step and of its synchronisation, over ascending local batches."""

    local_batch: Floats
    step_seconds: Floats
    sync_seconds: Floats

    def at(self, local_batch: float) -> tuple[float, float]:
        """Seconds of a step and of its synchronisation; constant beyond the ends."""
        return (
            float(np.interp(local_batch, self.local_batch, self.step_seconds)),
            float(np.interp(local_batch, self.local_batch, self.sync_seconds)),
        )


@dataclass(frozen=True)
class Timings:
    """Everything recorded of an application on a GPU type."""

    by_shape: Mapping[Shape, Curve]
    by_size: Mapping[tuple[int, int], Curve]

    @cached_property
    def local_most_of_all(self) -> int:
        """The largest local batch that was recorded."""
        return int(max(curve.local_batch[-1] for curve in self.by_shape.values()))

    @cached_property
    def local_least(self) -> int:
        """The smallest local batch that was recorded."""
        return int(min(curve.local_batch[0] for curve in self.by_shape.values()))

    def local_most(self, shape: Shape) -> int:
        """The largest local batch that is known to fit at a shape."""
        if (curve := self.by_shape.get(_turned(shape))) is not None:
            return int(curve.local_batch[-1])
        nodes, replicas = len(shape), sum(shape)
        larger = [c for (n, r), c in self.by_size.items() if n >= nodes and r >= replicas]
        return int(max(c.local_batch[-1] for c in larger or self.by_size.values()))

    @cached_property
    def single_rate(self) -> float:
        """Samples per second of one replica with the largest local batch."""
        curve = self.by_shape[(1,)]
        return float(curve.local_batch[-1] / curve.step_seconds.max())

    def seconds(self, shape: Shape, local_batch: int) -> tuple[float, float]:
        """Seconds of a step and of its synchronisation."""
        if (curve := self.by_shape.get(_turned(shape))) is not None:
            return curve.at(local_batch)
        return self._between(len(shape), sum(shape), local_batch)

    def _between(self, nodes: int, replicas: int, local_batch: int) -> tuple[float, float]:
        """Interpolate a size that was not recorded: a plane through the nearest ones that were."""
        if (curve := self.by_size.get((nodes, replicas))) is not None:
            return curve.at(local_batch)
        near = sorted(self.by_size, key=lambda at: (at[0] - nodes) ** 2 + (at[1] - replicas) ** 2)
        near = near[:NEIGHBOURS]
        weights = np.array([1 / ((n - nodes) ** 2 + (r - replicas) ** 2) for n, r in near])
        seen = np.array([self.by_size[at].at(local_batch) for at in near])
        step, sync = weights @ seen / weights.sum()
        return float(step), float(sync)


@cache
def _turned(shape: Shape) -> Shape:
    """The first in order of all rotations; shapes are recorded under it."""
    return min(shape[i:] + shape[:i] for i in range(len(shape)))


def timings_in(folder: Path, gpu_type: str) -> Timings:
    """The recorded timings of an application on a GPU type."""
    by_shape: dict[Shape, list[tuple[float, float, float]]] = defaultdict(list)
    by_size: dict[tuple[int, int], list[tuple[float, float, float]]] = defaultdict(list)
    with (folder / f"placements-{gpu_type}.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            shape = tuple(int(digit) for digit in row["placement"])
            by_shape[_turned(shape)].append(_point(row))
            by_size[len(shape), sum(shape)].append(_point(row))
    with (folder / f"scalability-{gpu_type}.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            by_size[int(row["num_nodes"]), int(row["num_replicas"])].append(_point(row))
    return Timings(
        {shape: _curve(points) for shape, points in by_shape.items()},
        {size: _curve(points) for size, points in by_size.items()},
    )


def _point(row: Mapping[str, str]) -> tuple[float, float, float]:
    return float(row["local_bsz"]), float(row["step_time"]), float(row["sync_time"])


def _curve(points: Iterable[tuple[float, float, float]]) -> Curve:
    """Points by local batch; points with the same local batch are averaged."""
    by_batch: dict[float, list[tuple[float, float]]] = defaultdict(list)
    for batch, step, sync in points:
        by_batch[batch].append((step, sync))
    batches = sorted(by_batch)
    means = np.array([np.mean(by_batch[batch], axis=0) for batch in batches])
    return Curve(np.array(batches), means[:, 0], means[:, 1])
