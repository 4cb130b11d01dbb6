"""The benchmark of a day on small files of its own, run as a user runs it."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
BENCH = Path(__file__).parents[3] / "bench" / "mixed_day.py"
HEADER = (
    "model,gpu,num_users,n_requests,n_ok,throughput_req_s,median_ttft_ms,"
    "median_nttft_ms_per_input_tok,median_itl_ms,mean_input_tokens,mean_output_tokens,"
    "price_usd_per_hour"
)
# A request has 100 tokens of input and one of output: its time is that of its prefill.
MS_FOR_INPUT = {"1 x T4": 2.0, "1 x H100": 0.25}
DOLLARS = {"1 x T4": 0.2, "1 x H100": 10.0}
SHORT, LONG = 100, 3600


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    rows = [HEADER]
    for gpu, prefill in MS_FOR_INPUT.items():
        for users in (1, 4):
            rate = 1000 / (100 * prefill)
            first = 100 * prefill
            rows.append(
                f"small,{gpu},{users},99,99,{rate},{first},{prefill},10,100,1,{DOLLARS[gpu]}"
            )
    # A row with a failed half would make the T4 a hundred times as fast.
    rows.append("small,1 x T4,8,99,49,9999,1,0.01,1,100,1,0.2")
    path = tmp_path / "profiles.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def figures(profiles: Path, tokens: list[int], *arguments: str) -> dict[str, Any]:
    """Of requests that come twenty a second, with so many tokens of input in turn."""
    rows = [f"{50 * place},{tokens[place % len(tokens)]},1" for place in range(1200)]
    path = profiles.with_name("requests.csv.gz")
    text = "\n".join(("timestamp_ms,input_tokens,output_tokens", *rows))
    path.write_bytes(gzip.compress(text.encode()))
    command = [sys.executable, str(BENCH), "--requests", str(path), "--profiles", str(profiles)]
    command += ["--model", "small", "--bounds", "1000", "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_long_prompts_on_the_fast_type_and_short_on_the_cheap_one_cost_less_than_either(
    profiles: Path,
) -> None:
    # A long prompt takes a T4 seven seconds. One H100 has time for all long ones, not for all.
    found = figures(profiles, [SHORT] * 19 + [LONG], "--first-token", "4")
    assert found["singles"]["1 x T4"] is None
    assert found["best_single"] == "1 x H100"
    assert set(found["mix"]["replicas"]) == {"1 x T4", "1 x H100"}
    assert found["mix_ratio"] < 1
    assert found["mix_ratio"] <= found["by_size_ratio"] < 1
    assert found["mix"]["attained"] >= 0.99
    # At the mean rates one H100 has time for all; only the queues want more.
    assert found["parting_saves"] == 0


def test_where_one_type_is_the_cheapest_for_every_size_the_mix_is_that_type(
    profiles: Path,
) -> None:
    found = figures(profiles, [SHORT], "--first-token", "4")
    assert found["best_single"] == "1 x T4"
    fleets = ("mix", "spilling_mix", "by_size", "spilling_by_size")
    assert [found[f"{fleet}_ratio"] for fleet in fleets] == [1, 1, 1, 1]
    # Twenty a second of a fifth of a second each keep four T4 busy.
    assert 4 <= found["mix"]["replicas"]["1 x T4"] <= 5


def test_what_no_type_could_do_in_time_has_no_cost(profiles: Path) -> None:
    found = figures(profiles, [LONG], "--first-token", "0.5")
    assert (found["mix"], found["best_single"], found["mix_ratio"]) == (None, None, None)
    assert found["by_size"] is None


def test_requests_above_the_limit_are_left_out_and_counted(profiles: Path) -> None:
    found = figures(profiles, [SHORT, LONG], "--most-input", "1000")
    assert (found["requests"], found["left_out"]) == (600, 600)
    assert found["requests_by_bucket"] == [600, 0]
