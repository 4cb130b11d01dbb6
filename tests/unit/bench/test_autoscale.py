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


def write_rates(path: Path, *models: str) -> None:
    """Four noisy days of each model, with a gap in the last."""
    draw = random.Random(1)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["model", "window_start_s", "rate_rps"])
        for model in models:
            for window in range(4 * DAY):
                rate = 100 * (2 + math.sin(2 * math.pi * window / DAY)) * draw.uniform(0.8, 1.2)
                rows.writerow([model, 600 * window, 0 if 500 <= window < 506 else rate])


def run(*arguments: object) -> dict[str, Any]:
    """What the benchmark prints."""
    command = [sys.executable, str(BENCH), *map(str, arguments), "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Of four days, the last one and a half scored."""
    path = tmp_path_factory.mktemp("rates") / "rates.csv"
    write_rates(path, "m")
    asked = ("--rates", path, "--model", "m", "--lead", 2, "--fit-until", 600 * 360)
    return run(*asked, "--frontier")


def test_all_models_are_run_at_both_leads_and_summed_up(tmp_path: Path) -> None:
    path = tmp_path / "rates.csv"
    write_rates(path, "m", "n")
    found = run("--rates", path, "--all", "--fit-until", 600 * 500)
    summary = found.pop("summary")
    assert set(found) == {"m/1", "m/2", "n/1", "n/2"}
    unserved = [each["plimsoll"]["unserved_percent"] for each in found.values()]
    assert summary["unserved_percent"] == {"least": min(unserved), "most": max(unserved)}
    assert all(0.8 < each["plimsoll"]["cost_ratio"] < 2 for each in found.values())


def test_windows_that_were_not_collected_are_not_scored(figures: dict[str, Any]) -> None:
    assert figures["windows"] == 4 * DAY - 360 - 6


def test_replicas_for_utilisation_cost_what_it_leaves_idle(figures: dict[str, Any]) -> None:
    assert figures["hpa"]["cost_ratio"] == pytest.approx(1 / 0.7, rel=0.05)


def test_ours_keeps_to_the_allowed_share_at_less_than_headroom_on_the_last_load_costs(
    figures: dict[str, Any],
) -> None:
    assert 0.1 < figures["plimsoll"]["unserved_percent"] < 0.75
    assert figures["plimsoll"]["cost_ratio"] < figures["keda"]["cost_ratio"]


def test_less_unserved_costs_more_along_each_frontier(figures: dict[str, Any]) -> None:
    for costs in figures["frontier"].values():
        assert list(costs.values()) == sorted(costs.values(), reverse=True)
