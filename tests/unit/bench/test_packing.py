"""The benchmark on small files of its own, run as a user runs it."""

import csv
import gzip
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import cast

import pytest

pytestmark = pytest.mark.slow
BENCH = Path(__file__).parents[3] / "bench" / "packing.py"
NODES = [
    {"sn": f"node-{n}", "cpu_milli": "64000", "memory_mib": "262144", "gpu": "4", "model": model}
    for n, model in enumerate(("T4", "G2", "G2"))
]
SHARES = ("1000", "470", "810", "320", "160")


def some_pods() -> list[dict[str, str]]:
    random = Random(7)
    return [
        {
            "name": f"pod-{number}",
            "cpu_milli": random.choice(("2000", "8000")),
            "memory_mib": "1024",
            "num_gpu": "1",
            "gpu_milli": random.choice(SHARES),
            "gpu_spec": random.choice(("", "", "T4", "G2|T4")),
        }
        for number in range(20)
    ]


@pytest.fixture
def lists(tmp_path: Path) -> list[str]:
    nodes, pods = tmp_path / "nodes.csv", tmp_path / "pods.csv.gz"
    with nodes.open("w") as file:
        writer = csv.DictWriter(file, NODES[0])
        writer.writeheader()
        writer.writerows(NODES)
    with gzip.open(pods, "wt") as file:
        writer = csv.DictWriter(file, some_pods()[0])
        writer.writeheader()
        writer.writerows(some_pods())
    return ["--nodes", str(nodes), "--pods", str(pods)]


def figures(*arguments: str) -> Mapping[str, object]:
    done = subprocess.run(
        [sys.executable, str(BENCH), *arguments], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("policy", ["plimsoll", "fgd", "dotprod", "gpupacking", "pwr-fgd"])
def test_every_policy_fills_most_of_the_cluster(lists: list[str], policy: str) -> None:
    found = figures(*lists, "--policy", policy, "--seed", "3", "--turn", "4")
    assert isinstance(found["used_gpu_milli"], int)
    assert 9000 <= found["used_gpu_milli"] <= 12000
    assert isinstance(found["allocated_percent_at_130"], float)
    assert 75 <= found["allocated_percent_at_130"] <= 100


def test_power_is_printed_by_demand_and_rises_with_it(lists: list[str]) -> None:
    found = figures(*lists, "--path", "library", "--power")
    kilowatts = cast("dict[str, float]", found["kilowatts_at"])
    assert list(kilowatts) == ["20", "40", "60", "80"]
    assert list(kilowatts.values()) == sorted(kilowatts.values())
    assert found["served_percent_at_99_5"]


LIBRARY = ("--path", "library")


@pytest.mark.parametrize(
    "mode",
    [(), ("--turn", "1"), ("--turn", "4", "--moves"), (*LIBRARY, "--batch", "8")],
)
def test_no_mode_exceeds_the_bounds_beside_it(lists: list[str], mode: tuple[str, ...]) -> None:
    found = figures(*lists, *mode)
    used, bounds = found["used_gpu_milli"], found["upper_bound_percent_keeping_placed"]
    assert isinstance(used, int)
    assert isinstance(bounds, float)
    assert isinstance(found["upper_bound_percent"], float)
    assert used / 120 <= bounds + 1e-6 <= found["upper_bound_percent"] + 2e-6


def test_the_operator_decides_unless_told_otherwise(lists: list[str]) -> None:
    found = figures(*lists)
    assert found["path"] == "operator"
    assert isinstance(found["fgd_allocated_percent_at_130"], float)
    assert figures(*lists, *LIBRARY)["path"] == "library"
    assert figures(*lists, "--policy", "fgd")["path"] == "library"


def test_modes_of_the_library_alone_are_refused_on_the_path_of_the_operator(
    lists: list[str],
) -> None:
    command = [sys.executable, str(BENCH), *lists, "--power"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "need --path library" in refused.stderr


@pytest.mark.parametrize("nonsense", [("--turn", "0"), ("--effort", "nan"), ("--effort", "-1")])
def test_nonsense_is_refused(lists: list[str], nonsense: tuple[str, str]) -> None:
    command = [sys.executable, str(BENCH), *lists, *nonsense]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert f"{nonsense[0]} must be" in refused.stderr
