"""The alerts as promtool and Prometheus's own engine take them."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from plimsoll_devcluster.programs.prometheus_program import find_promtool
from support.project.alert_cases import CASES, WELL, Case
from support.project.pages import ROOT
from support.project.tiers import quick_first

RULES = ROOT / "charts" / "plimsoll" / "files" / "alerts.yaml"


@pytest.fixture(scope="session")
def promtool() -> Path:
    return find_promtool(os.environ)


def promtool_run(promtool: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [promtool, *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def firing_test(series: Mapping[str, str], firing: list[str], minutes: int) -> dict[str, Any]:
    """Which alerts fire at that minute, and no other."""
    values = {**WELL, **series}
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": samples} for name, samples in values.items()],
        "promql_expr_test": [
            {
                "expr": 'group by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": f"{minutes}m",
                "exp_samples": [
                    {"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in firing
                ],
            }
        ],
    }


def verdict(promtool: Path, folder: Path, *tests: dict[str, Any]) -> str:
    """What promtool has against these tests; "" where they hold."""
    file = folder / "cases.yaml"  # of which JSON is a part
    content = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": list(tests)}
    file.write_text(json.dumps(content))
    done = promtool_run(promtool, "test", "rules", file)
    return "" if done.returncode == 0 else f"{done.stdout}{done.stderr}"


def test_promtool_finds_nothing_wrong(promtool: Path) -> None:
    done = promtool_run(promtool, "check", "rules", "--lint=all", "--lint-fatal", RULES)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert "SUCCESS" in done.stdout


def test_nothing_fires_while_nothing_is_wrong(promtool: Path, tmp_path: Path) -> None:
    assert not verdict(promtool, tmp_path, firing_test({}, [], minutes=180))


@pytest.mark.parametrize("case", quick_first(CASES, 3), ids=lambda case: case.alert)
def test_an_alert_fires_when_it_must_and_only_then(
    case: Case, promtool: Path, tmp_path: Path
) -> None:
    fires = firing_test(case.fires, [case.alert], case.minutes)
    quiet = firing_test(case.quiet, [], case.minutes)
    assert not verdict(promtool, tmp_path, fires, quiet)


def test_a_wrong_expectation_is_found(promtool: Path, tmp_path: Path) -> None:
    assert "FAILED" in verdict(promtool, tmp_path, firing_test({}, ["PlimsollHasNoLeader"], 60))
