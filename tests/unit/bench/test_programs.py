"""Benchmarks that are given nonsense, run as a user runs them: they say so and print no figures."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.problems.recorded_files import (
    MOONCAKE,
    NODES,
    PODS,
    POWER,
    PROFILES,
    RATES,
    SERIES,
    SUPPLY,
    WINDOWS,
)
from support.programs.recorded_training import write_recording

pytestmark = pytest.mark.slow

BENCH = Path(__file__).parents[3] / "bench"
TYPES = {"aws": 1.0, "rtx": 1.5, "dgx-ext": 3.0}


def ended(program: str, *arguments: object) -> str:
    """What a benchmark says that ends with an error, and prints nothing."""
    command = [sys.executable, str(BENCH / program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    return done.stderr


def _written(folder: Path, **texts: str) -> list[Path]:
    paths = [folder / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text)
    return paths


def test_a_model_without_token_counts_ends_the_benchmark_of_power(tmp_path: Path) -> None:
    without = RATES.replace(",100", ",").replace(",120", ",")
    profiles, rates = _written(tmp_path, profiles=POWER, rates=without)
    said = ended("power.py", "--profiles", profiles, "--rates", rates, "--hours", 1, "--seeds", 1)
    expected = "model m: mean_output_tokens is empty in all windows with requests"
    assert said == f"{rates}: {expected}\n"


def test_windows_without_requests_are_nothing_to_score(tmp_path: Path) -> None:
    rows = [f"m,{600 * window},{5 if window < 20 else 0},1,1" for window in range(40)]
    [rates] = _written(tmp_path, rates="\n".join([RATES.splitlines()[0], *rows]))
    said = ended("autoscale.py", "--rates", rates, "--model", "m", "--fit-until", 12000)
    assert said.startswith(f"{rates}: all windows to fit on, or all to score, have no requests")


def test_windows_that_the_operator_cannot_look_at_end_the_benchmark(tmp_path: Path) -> None:
    rows = [f"m,{90 * window},5,1,1" for window in range(40)]
    [rates] = _written(tmp_path, rates="\n".join([RATES.splitlines()[0], *rows]))
    said = ended("autoscale.py", "--rates", rates, "--model", "m", "--fit-until", 1800)
    assert said.startswith(f"{rates}: the windows of m are 90 s long: they need to be a multiple")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--model", "m", "--lead", "0"), "--lead: must be a window or more"),
        (("--model", "m", "--unserved-percent", "nan"), "--unserved-percent: must be above 0"),
        (("--model", "m", "--fit-until", "inf"), "--fit-until: must be a number of seconds"),
        ((), "needs either --model or --all"),
    ],
)
def test_senseless_arguments_end_it(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    [rates] = _written(tmp_path, rates=RATES)
    command = [sys.executable, str(BENCH / "autoscale.py"), "--rates", str(rates), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_an_unknown_model_ends_the_benchmark_of_a_day(tmp_path: Path) -> None:
    requests, profiles = _written(tmp_path, requests=MOONCAKE, profiles=PROFILES)
    said = ended(
        *("mixed_day.py", "--requests", requests, "--profiles", profiles, "--model", "large")
    )
    assert said == f"{profiles}: the model large has no GPU profile with rows that can be used\n"


@pytest.mark.parametrize(
    ("text", "most", "said"),
    [
        (MOONCAKE, 10, "no request has 10 tokens of input or less"),
        (MOONCAKE.replace("900", "0"), 99, "all requests come at once"),
    ],
)
def test_a_day_without_requests_ends_the_benchmark(
    text: str, most: int, said: str, tmp_path: Path
) -> None:
    requests, profiles = _written(tmp_path, requests=text, profiles=PROFILES)
    files = ("--requests", requests, "--profiles", profiles)
    found = ended("mixed_day.py", *files, "--model", "small", "--most-input", most)
    assert found == f"{requests}: {said}\n"


def test_pods_without_gpus_end_the_benchmark_of_packing(tmp_path: Path) -> None:
    lines = [line for line in PODS.splitlines() if not line.startswith(("p-0", "p-1"))]
    nodes, pods = _written(tmp_path, nodes=NODES, pods="\n".join(lines))
    said = ended("packing.py", "--nodes", nodes, "--pods", pods)
    assert said == f"{pods}: num_gpu is 0 for all pods\n"


def test_a_window_beyond_its_series_ends_the_benchmark_of_spot(tmp_path: Path) -> None:
    series, windows = _written(tmp_path, series=SERIES, windows=WINDOWS.replace("0,3,1", "0,560,1"))
    said = ended("spot_deadline.py", "--series", series, "--windows", windows)
    assert said == f"{series}: data ends after 3 ticks, but a window at 560\n"


def test_no_instance_ends_the_benchmark_of_shared_models(tmp_path: Path) -> None:
    [instances] = _written(tmp_path, instances="[]")
    said = ended("shared_models.py", "--instances", instances)
    assert said == f"{instances}: is no list of JSON objects, or an empty one\n"


def test_demand_below_zero_ends_the_benchmark_of_mixes(tmp_path: Path) -> None:
    paths = _written(tmp_path, profiles=PROFILES, supply=SUPPLY, demand="model,users\nsmall,-3\n")
    options = ("--profiles", "--supply", "--demand")
    files = [each for pair in zip(options, paths, strict=True) for each in pair]
    said = ended("mix.py", "--users", 9, *files)
    assert said == f"{paths[2]}: line 2, model small: users '-3' is no whole number of 0 or more\n"


def test_nonsense_ends_the_benchmark_of_elastic_training(tmp_path: Path) -> None:
    profiles = write_recording(tmp_path / "profiles", speeds=TYPES)
    [workload] = _written(tmp_path, workload="name,time,application,batch_size\n")
    said = ended("elastic.py", "--profiles", profiles, "--workload", workload)
    assert said == f"{workload}: there are no rows\n"


def test_requests_that_are_over_before_any_is_scored_end_the_benchmark_of_phases(
    tmp_path: Path,
) -> None:
    [requests] = _written(tmp_path, requests=MOONCAKE)
    said = ended("phases.py", "--requests", requests, "--copies", 1)
    assert said.startswith("--warm-up 900: the last request comes at 1 s")


def test_an_objective_that_no_request_could_keep_ends_the_benchmark_of_phases(
    tmp_path: Path,
) -> None:
    [requests] = _written(tmp_path, requests=MOONCAKE)
    options = ("--warm-up", 0.5, "--time-per-output-token", 0.001)
    said = ended("phases.py", "--requests", requests, *options)
    assert said == "--time-per-output-token: a single request already takes longer\n"


def test_nonsense_ends_the_benchmark_of_phases(tmp_path: Path) -> None:
    [requests] = _written(tmp_path, requests=MOONCAKE.replace("900", "never"))
    said = ended("phases.py", "--requests", requests)
    assert said == f"{requests}: line 3: timestamp_ms 'never' is no finite number\n"
