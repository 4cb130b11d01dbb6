"""The recordings that `elastic.py` is given, checked before the simulator takes them as they are.

The simulator says which columns they have (`timings.py`, `training.py`, `recording.py`).
"""

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from plimsoll_bench.recorded import Row, rows_in
from plimsoll_simulator.recorded.applications import HABITS


def applications_checked(folder: Path, gpu_types: Iterable[str]) -> list[str]:
    """The applications with profiles in a folder, all of whose files make sense."""
    types, found = tuple(gpu_types), [name for name in HABITS if (folder / name).is_dir()]
    if not found:
        raise SystemExit(f"{folder}: there is no folder {', '.join(HABITS)}")
    for name in found:
        for gpu_type in types:
            _check_placements(folder / name / f"placements-{gpu_type}.csv")
            _check_scalability(folder / name / f"scalability-{gpu_type}.csv")
        _check_training(folder / name, HABITS[name].epochs)
    return found


def check_workload(path: Path, applications: Collection[str]) -> None:
    """End the program where a job makes no sense or is of an application without profiles."""
    for row in rows_in(path, about="name"):
        row.text("name")
        row.number("time")
        row.whole("batch_size", least=1)
        if row.text("application") not in applications:
            raise row.wrong("application", "has no profiles")


def _check_placements(path: Path) -> None:
    rows = rows_in(path)
    for row in rows:
        _check_seconds(row)
        if not re.fullmatch("[1-9]+", row.text("placement")):
            raise row.wrong("placement", "is not a digit above 0 for each node")
    if not any(row.text("placement") == "1" for row in rows):
        raise SystemExit(f"{path}: placement is 1 in no row")


def _check_scalability(path: Path) -> None:
    for row in rows_in(path):
        _check_seconds(row)
        row.whole("num_nodes", least=1)
        row.whole("num_replicas", least=1)


def _check_seconds(row: Row) -> None:
    row.positive("local_bsz")
    row.positive("step_time")
    row.number("sync_time")


def _check_training(folder: Path, epochs: int) -> None:
    files = sorted(folder.glob("validation-*.csv"))
    if not files:
        raise SystemExit(f"{folder}: there is no validation-BATCH.csv")
    for path in files:
        rows = rows_in(path)
        if len(rows) < epochs:
            raise SystemExit(f"{path}: {len(rows)} epochs, and {epochs} are needed")
        for row in rows:
            row.positive("progress")
            row.number("grad_sqr")
            row.number("grad_var")
