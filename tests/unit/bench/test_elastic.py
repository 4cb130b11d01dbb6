"""The benchmark on a small recording of its own, run as a user runs it."""

import json
import math
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from plimsoll_bench.elastic.figures import of_twin
from plimsoll_simulator.recorded.gpu_pools import Pool
from plimsoll_simulator.recorded.recording import applications_in, arrivals_in
from plimsoll_simulator.recorded.submission import setting, submissions
from plimsoll_simulator.story import told
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


def test_jobs_without_rates_are_compared_with_the_same_that_state_them(tmp_path: Path) -> None:
    profiles = write_recording(
        tmp_path / "profiles", speeds={"aws": 1.0, "rtx": 1.5, "dgx-ext": 3.0}
    )
    workload = write_workload(tmp_path / "workload.csv", [0.0, 120.0])
    files = ("--profiles", str(profiles), "--workload", str(workload))
    command = [sys.executable, str(BENCH), "--json", *files, "--rates"]
    found = {
        rates: json.loads(
            subprocess.run([*command, rates], check=True, capture_output=True, text=True).stdout
        )
        for rates in ("none", "given")
    }
    assert found["none"]["with_rates_mean_jct_hours"] == found["given"]["mean_jct_hours"]
    assert found["none"]["mean_jct_hours"] > 0
    assert "with_rates_mean_jct_hours" not in found["given"]


def test_a_job_that_never_runs_has_no_finite_figures(tmp_path: Path) -> None:
    """Otherwise its benchmark would not end, or print a success."""
    pools = (Pool("aws", 0, 4),)
    applications = applications_in(write_recording(tmp_path / "p", speeds={"aws": 1.0}), ["aws"])
    arrivals = arrivals_in(write_workload(tmp_path / "w.csv", [0.0]))
    events = chain(setting(pools), submissions(arrivals, applications, pools))
    figures = of_twin(told(events))
    assert math.isinf(figures.mean_jct_hours)


@pytest.mark.parametrize("effort", ["nan", "-1"])
def test_a_senseless_effort_is_refused(effort: str, tmp_path: Path) -> None:
    files = ("--profiles", str(tmp_path), "--workload", str(tmp_path))
    command = [sys.executable, str(BENCH), *files, f"--effort={effort}"]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "--effort: must be a number of 0 or more" in ended.stderr
