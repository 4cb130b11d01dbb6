"""The benchmark on a small recording of its own, run as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.programs.recorded_training import write_recording, write_workload

pytestmark = pytest.mark.slow
BENCH = Path(__file__).parents[3] / "bench" / "elastic.py"
KEYS = {
    "mean_jct_hours",
    "p99_jct_hours",
    "makespan_hours",
    "gpu_hours_per_job",
    "max_round_seconds",
}


@pytest.mark.parametrize(
    ("options", "path"),
    [
        (("--policy", "plimsoll"), "operator"),
        (("--policy", "plimsoll", "--path", "library"), "library"),
        (("--policy", "sia"), "rival"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_every_policy_finishes_all_jobs(
    options: tuple[str, ...], path: str, tmp_path: Path
) -> None:
    types = {"aws": 1.0, "rtx": 1.5, "dgx-ext": 3.0}
    profiles = write_recording(tmp_path / "profiles", speeds=types)
    workload = write_workload(tmp_path / "workload.csv", [0.0, 0.0, 120.0, 300.0])
    command = [
        *(sys.executable, str(BENCH), "--json", *options, "--seed", "3"),
        *("--profiles", str(profiles), "--workload", str(workload)),
    ]
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    figures = json.loads(ended.stdout)
    assert figures.keys() >= KEYS
    assert (figures["path"], figures["jobs"]) == (path, 4)
    assert 0 < figures["mean_jct_hours"] <= figures["p99_jct_hours"] < 1
