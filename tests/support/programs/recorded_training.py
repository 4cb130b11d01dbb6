"""A small recording of training, as files: two GPU types, of which one is twice as fast."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

SPEEDS = {"slow": 1.0, "fast": 2.0}
"""How much faster each GPU type computes."""

EPOCHS = 100
STEPS_PER_EPOCH = 40.0
COMPUTE_SECONDS_PER_SAMPLE = 0.001
SYNC_SECONDS = 0.01
LOCAL_BATCHES = (32, 64, 128)
SHAPES = ("1", "2", "4", "44")


def step_seconds(speed: float, replicas: int, local_batch: int) -> tuple[float, float]:
    """Seconds of a step and of its synchronisation, as recorded."""
    sync = SYNC_SECONDS if replicas > 1 else 0.0
    return COMPUTE_SECONDS_PER_SAMPLE * local_batch / speed + sync, sync


def write_recording(
    folder: Path,
    application: str = "cifar10",
    speeds: Mapping[str, float] = SPEEDS,
    *,
    steps_per_epoch: float = STEPS_PER_EPOCH,
) -> Path:
    """Write the profile of an application below `folder`, and return `folder`."""
    home = folder / application
    home.mkdir(parents=True)
    for gpu_type, speed in speeds.items():
        rows = [
            (shape, batch, *step_seconds(speed, sum(map(int, shape)), batch))
            for shape in SHAPES
            for batch in LOCAL_BATCHES
        ]
        columns = ("placement", "local_bsz", "step_time", "sync_time")
        _write(home / f"placements-{gpu_type}.csv", columns, rows)
        _write(
            home / f"scalability-{gpu_type}.csv",
            ("num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"),
            [(3, 12, batch, *step_seconds(speed, 12, batch)) for batch in LOCAL_BATCHES],
        )
    for batch in (64, 256, 1024):
        _write(
            home / f"validation-{batch}.csv",
            ("progress", "iteration", "metric", "grad_sqr", "grad_var"),
            [(steps_per_epoch * (epoch + 1), 0, 0, 1.0, 10.0) for epoch in range(EPOCHS)],
        )
    return folder


def write_workload(
    path: Path, arrivals: Sequence[float], application: str = "cifar10", gpus: int = 1
) -> Path:
    """Write a workload of jobs that arrive at these seconds; return its path."""
    rows = [(f"job-{i}", at, application, gpus, 256) for i, at in enumerate(arrivals)]
    _write(path, ("name", "time", "application", "num_replicas", "batch_size"), rows)
    return path


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
