"""Plans of small problems are the best there are, which another model proves."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]


def test_plans_are_proven_to_be_the_best() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    program = [sys.executable, str(ROOT / "bench" / "optimum.py")]
    done = subprocess.run(
        [*program, "--instances", "30", "--seed", "3"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    figures = json.loads(done.stdout)
    assert figures["instances"] == 30
    assert figures["max_distance_percent"] == 0
    assert figures["proven_percent"] == 100
    assert figures["greedy_mean_distance_percent"] > 0, "not any plan is"
    assert figures["instances_with"]["a price of changes"] > 15
    assert figures["looked_through"] > 0
