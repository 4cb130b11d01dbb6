"""The benchmark on small files of its own, run as a user runs it."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
BENCH = Path(__file__).parents[3] / "bench" / "spot_deadline.py"
TICKS = 554
HOURS_PAID = (48.02, 48.2, 48.4)
"""48 hours, and a start."""


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Of a series in which spot is always up, one in which it never is, and one that flickers."""
    folder = tmp_path_factory.mktemp("series")
    flicker = [1, 1, 1, 0, 0, 0, 0] * 80
    files: list[str] = []
    for name, up in (("up", [1] * TICKS), ("down", [0] * TICKS), ("flicker", flicker[:TICKS])):
        path = folder / f"{name}.json.gz"
        path.write_bytes(
            gzip.compress(json.dumps({"metadata": {"gap_seconds": 600}, "data": up}).encode())
        )
        files.append(str(path))
    windows = folder / "windows.csv"
    windows.write_text(
        f"trace_id,start_tick,end_tick,in_adrs_stage2_set\r\n0,0,{TICKS},1\r\n1,0,9,0\r\n"
    )
    command = [sys.executable, str(BENCH), "--series", *files, "--windows", str(windows)]
    command += ["--path", "library"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_nobody_of_ours_is_late_in_any_run(figures: dict[str, Any]) -> None:
    assert (figures["late"], figures["runs"]) == (0, 27)


def test_ours_costs_less_than_greedy_and_more_than_knowing_the_future(
    figures: dict[str, Any],
) -> None:
    least = figures["references"]["clairvoyant"]["mean_cost"]
    assert least < figures["mean_cost"] < figures["references"]["greedy"]["mean_cost"]


def test_where_nothing_is_uncertain_the_optimum_is_what_its_hours_cost(
    figures: dict[str, Any],
) -> None:
    # All spot on the first series, all on-demand on the second, three of seven ticks on the third.
    up, down = (sum(HOURS_PAID) / 3 * price for price in (0.9731, 3.06))
    flickering = 3 * figures["references"]["clairvoyant"]["mean_cost"] - up - down
    assert up < flickering <= down + 1e-6
