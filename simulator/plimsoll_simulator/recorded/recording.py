"""The recordings: applications with their profiles, and which jobs arrive when."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from plimsoll_placement.estimate.throughput.best_batch import BatchLimits
from plimsoll_simulator.recorded.applications import HABITS, Habits
from plimsoll_simulator.recorded.timings import Shape, Timings, timings_in
from plimsoll_simulator.recorded.training import Training, training_in


@dataclass(frozen=True)
class Application:
    """One application on every GPU type, in the order in which the types are requested."""

    name: str
    habits: Habits
    training: Training
    timings: Mapping[str, Timings]

    @cached_property
    def total_progress(self) -> float:
        """The progress at which it is done, in steps of the smallest batch."""
        return self.training.progress_after(self.habits.epochs)

    def limits(self, gpu_type: str, local_most: int | None = None) -> BatchLimits:
        """The batches that it allows on a type."""
        timings = self.timings[gpu_type]
        return BatchLimits(
            self.training.smallest_batch,
            self.training.largest_batch,
            timings.local_least,
            local_most or timings.local_most_of_all,
        )

    def local_most(self, gpu_type: str, shape: Shape) -> int:
        """The largest local batch that fits at a shape."""
        return self.timings[gpu_type].local_most(shape)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A submitted job; `batch` is the batch size that its owner asked for."""

    name: str
    seconds: float
    application: str
    batch: int


def applications_in(folder: Path, gpu_types: Iterable[str]) -> dict[str, Application]:
    """All applications that have a folder of their own in `folder`."""
    types = tuple(gpu_types)
    return {
        name: Application(
            name,
            habits,
            training_in(folder / name, habits.epochs),
            {gpu_type: timings_in(folder / name, gpu_type) for gpu_type in types},
        )
        for name, habits in HABITS.items()
        if (folder / name).is_dir()
    }


def arrivals_in(path: Path) -> tuple[Arrival, ...]:
    """The jobs of a workload; columns name, time (in seconds), application and batch_size."""
    with path.open(encoding="utf-8") as lines:
        return tuple(
            Arrival(
                row["name"], float(row["time"]), row["application"], int(float(row["batch_size"]))
            )
            for row in csv.DictReader(lines)
        )
