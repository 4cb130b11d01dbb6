"""The course of training: recorded progress and noise of gradients, epoch by epoch.

`validation-BATCH.csv` has one row per epoch, with the columns progress (in steps of the smallest
batch, at its end), grad_sqr and grad_var.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plimsoll_placement.estimate.throughput.noise import Floats, GradientNoise


@dataclass(frozen=True, slots=True)
class Training:
    """By batch size, ascending, and epoch."""

    batches: Floats
    progress: Floats
    square: Floats
    variance: Floats

    @property
    def smallest_batch(self) -> int:
        """The smallest batch size that was recorded, the unit of progress."""
        return int(self.batches[0])

    @property
    def largest_batch(self) -> int:
        """The largest batch size that was recorded."""
        return int(self.batches[-1])

    def progress_after(self, epochs: int) -> float:
        """The progress at which that many epochs are over."""
        return float(self.progress[:, epochs - 1].min()) if epochs else 0.0

    def noise(self, batch: int, epoch: int) -> GradientNoise:
        """The noise of gradients during an epoch, interpolated between batch sizes."""
        return GradientNoise(
            float(np.interp(batch, self.batches, self.square[:, epoch])),
            float(np.interp(batch, self.batches, self.variance[:, epoch])),
        )


def training_in(folder: Path, epochs: int) -> Training:
    """The recorded training of an application, as far as it has to go."""
    files = {int(path.stem.partition("-")[2]): path for path in folder.glob("validation-*.csv")}
    batches = sorted(files)
    rows = np.array([_rows(files[batch])[:epochs] for batch in batches])
    return Training(
        np.array(batches, dtype=np.float64), rows[:, :, 0], rows[:, :, 1], rows[:, :, 2]
    )


def _rows(path: Path) -> list[tuple[float, float, float]]:
    with path.open(encoding="utf-8") as lines:
        return [
            (float(row["progress"]), float(row["grad_sqr"]), float(row["grad_var"]))
            for row in csv.DictReader(lines)
        ]
