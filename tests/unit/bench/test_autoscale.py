"""The benchmark on a small file of its own, run as a user runs it."""

import csv
import json
import math
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
BENCH = Path(__file__).parents[3] / "bench" / "autoscale.py"
DAY = 144


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Of four noisy days, the last one and a half scored, with a gap in it."""
    path, draw = tmp_path_factory.mktemp("rates") / "rates.csv", random.Random(1)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["model", "window_start_s", "rate_rps"])
        for window in range(4 * DAY):
            rate = 100 * (2 + math.sin(2 * math.pi * window / DAY)) * draw.uniform(0.8, 1.2)
            rows.writerow(["m", 600 * window, 0 if 500 <= window < 506 else rate])
    command = [sys.executable, str(BENCH), "--rates", str(path), "--model", "m", "--lead", "2"]
    command += ["--fit-until", str(600 * 360), "--json", "--frontier"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_windows_that_were_not_collected_are_not_scored(figures: dict[str, Any]) -> None:
    assert figures["windows"] == 4 * DAY - 360 - 6


def test_replicas_for_utilisation_cost_what_it_leaves_idle(figures: dict[str, Any]) -> None:
    assert figures["hpa"]["cost_ratio"] == pytest.approx(1 / 0.7, rel=0.05)


def test_ours_keeps_to_the_allowed_share_at_less_than_headroom_on_the_last_load_costs(
    figures: dict[str, Any],
) -> None:
    assert figures["plimsoll"]["unserved_percent"] < 0.75
    assert figures["plimsoll"]["cost_ratio"] < figures["keda"]["cost_ratio"]


def test_less_unserved_costs_more_along_each_frontier(figures: dict[str, Any]) -> None:
    for costs in figures["frontier"].values():
        assert list(costs.values()) == sorted(costs.values(), reverse=True)
