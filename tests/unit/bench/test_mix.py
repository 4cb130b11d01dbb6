"""The benchmark on small files of its own, run as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
BENCH = Path(__file__).parents[3] / "bench" / "mix.py"
# Users within the SLO by model and GPU profile; the level after it takes too long.
CARRIED = {
    "small": {"1 x T4": 16, "1 x A100": 64},
    "large": {"1 x A100": 8, "2 x A100": 32},
    "huge": {"1 x T4": 0, "2 x A100": 4},
}
DOLLARS = {"1 x T4": 1.5, "1 x A100": 4.0, "2 x A100": 8.0}


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    rows = ["model,gpu,num_users,median_nttft_ms_per_input_tok,median_itl_ms,price_usd_per_hour"]
    for model, by_gpu in CARRIED.items():
        for gpu, users in by_gpu.items():
            for level in (1, 2, 4, 8, 16, 32, 64, 128):
                # Above the last level it is too slow at once, and once again within the SLO.
                slow = "150" if users < level <= 2 * users or not users else "20"
                rows.append(f"{model},{gpu},{level},{slow},30,{DOLLARS[gpu]}")
    path = tmp_path / "profiles.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def figures(profiles: Path, supply: dict[str, int], *arguments: str) -> dict[str, Any]:
    path = profiles.with_name("supply.csv")
    path.write_text("gpu,count\n" + "".join(f"{gpu},{n}\n" for gpu, n in supply.items()))
    command = [sys.executable, str(BENCH), "--profiles", str(profiles), "--supply", str(path)]
    command += ["--users", "50", "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_with_plenty_each_model_has_what_is_cheapest_for_it(profiles: Path) -> None:
    found = figures(profiles, {"T4": 100, "A100": 100})
    assert found["counts"] == {
        "small": {"1 x A100": 1},
        "large": {"2 x A100": 2},
        "huge": {"2 x A100": 13},
    }
    assert found["cost_per_hour"] == found["optimum_per_hour"] == 4 + 16 + 104
    assert (found["short"], found["gap_percent"]) == ({}, 0)


def test_as_supply_shrinks_the_answer_stays_the_optimum_and_greedy_falls_behind(
    profiles: Path,
) -> None:
    found = figures(profiles, {"T4": 40, "A100": 100}, "--shrink", "3")
    assert found["just_enough"] == pytest.approx(0.3, abs=0.001)
    curve = found["shrink"]
    assert all(each["cost_per_hour"] == each["optimum_per_hour"] for each in curve)
    assert [each["short_users"] > 0 for each in curve] == [False] * 3 + [True] * 2
    tightest = curve[2]
    assert tightest["cost_per_hour"] > curve[0]["cost_per_hour"]
    assert tightest["greedy_short_users"] > tightest["short_users"] == 0


def test_who_is_short_is_named(profiles: Path) -> None:
    found = figures(profiles, {"T4": 2})
    assert found["short"] == {"small": 18, "large": 50, "huge": 50}
    assert found["optimum_short_users"] == found["short_users"] == 118


def test_each_model_may_have_users_of_its_own(profiles: Path) -> None:
    demand = profiles.with_name("demand.csv")
    demand.write_text("model,users\nlarge,1\nhuge,0\n")
    found = figures(profiles, {"T4": 9, "A100": 9}, "--demand", str(demand))
    assert found["counts"] == {"small": {"1 x A100": 1}, "large": {"1 x A100": 1}, "huge": {}}


def test_more_models_are_drawn_by_a_seed(profiles: Path) -> None:
    drawn = [
        figures(profiles, {"T4": 900, "A100": 900}, "--models", "9", "--seed", seed)["counts"]
        for seed in ("1", "1", "2")
    ]
    assert len(drawn[0]) == 9
    assert drawn[0] == drawn[1] != drawn[2]
