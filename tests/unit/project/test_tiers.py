"""Each test is in a tier, and `.ci/run` runs every tier."""

import re
import subprocess
import sys

import pytest

from support.project.pages import ROOT

TIERS = ("test", "test-slow")
RECIPE = re.compile(r"^([a-z-]+):.*\n\t\$\(PYTEST\) .*?-m '([^']+)'", re.MULTILINE)
FOUND = re.compile(r"^\d+/(\d+) tests collected \(\d+ deselected\)", re.MULTILINE)


def selections() -> dict[str, str]:
    """What each target of the Makefile that runs tests selects by their markers."""
    return dict(RECIPE.findall((ROOT / "Makefile").read_text()))


def collected(selection: str) -> tuple[set[str], int]:
    """The ids of the tests that pytest finds so, and how many there are in all."""
    command = [sys.executable, "-m", "pytest", "--quiet", "--collect-only", "-m", selection]
    said = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    (in_all,) = FOUND.findall(said)
    return {line for line in said.splitlines() if "::" in line}, int(in_all)


def test_ci_runs_every_tier() -> None:
    program = (ROOT / ".ci" / "run").read_text()
    run = re.findall(r"^section .* make (test[a-z-]*) ", program, re.MULTILINE)
    assert run == [*TIERS]


def test_what_is_quick_is_the_same_without_make() -> None:
    quick = selections()["test"]
    assert f'"-m {quick}"' in (ROOT / "pyproject.toml").read_text()
    assert selections()["unit"] == quick


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_test_is_in_a_tier() -> None:
    found = [collected(selections()[tier]) for tier in TIERS]
    (quick, in_all), (slow, as_many) = found
    assert in_all == as_many
    assert len(quick | slow) == in_all
    assert len(quick) > len(slow) > 0
