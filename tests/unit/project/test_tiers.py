"""Each test is in a tier, and `.ci/run` runs every tier."""

import itertools
import re

from support.project.pages import ROOT

TIERS = ("test", "test-slow")
RECIPE = re.compile(r"^([a-z-]+):.*\n\t\$\(PYTEST\) (.*?)-m '([^']+)'(.*)", re.MULTILINE)
OPERATORS = {"and", "or", "not"}


def recipes() -> dict[str, tuple[str, str]]:
    """What each target of the Makefile that runs tests selects by their marks, and all else."""
    found = RECIPE.findall((ROOT / "Makefile").read_text())
    return {target: (selection, before + after) for target, before, selection, after in found}


def selects(selection: str, marks: set[str]) -> bool:
    """Whether a test with these marks is selected: an expression of Python, as pytest has it."""
    known = {word: word in marks for word in words(selection)}
    return bool(eval(selection, {}, known))  # noqa: S307 - it comes from our own Makefile


def words(selection: str) -> set[str]:
    return {*re.findall(r"\w+", selection)} - OPERATORS


def test_ci_runs_every_tier() -> None:
    program = (ROOT / ".ci" / "run").read_text()
    run = re.findall(r"^section .* make (test[a-z-]*) ", program, re.MULTILINE)
    assert run == [*TIERS]


def test_what_ci_leaves_out_of_the_slow_tier_it_runs_beside_the_cluster() -> None:
    program = (ROOT / ".ci" / "run").read_text()
    runs = re.findall(r"make test-slow .*?\"(.*?) --durations", program)
    assert sorted(runs) == ["${computing[*]/#/--ignore=}", "${computing[*]}"]


def test_a_test_is_in_a_tier_whatever_its_marks_and_in_both_only_if_it_draws() -> None:
    quick, slow = (recipes()[tier][0] for tier in TIERS)
    names = sorted(words(quick) | words(slow))
    assert names == ["hypothesis", "slow"]
    for length in range(len(names) + 1):
        for marks in map(set, itertools.combinations(names, length)):
            assert selects(quick, marks) or selects(slow, marks)
            if "hypothesis" not in marks:
                assert selects(quick, marks) != selects(slow, marks)


def test_tiers_differ_in_what_they_select_and_in_nothing_else() -> None:
    assert len({recipes()[tier][1] for tier in TIERS}) == 1


def test_what_is_quick_is_the_same_without_make() -> None:
    quick = recipes()["test"][0]
    assert f'"-m {quick}"' in (ROOT / "pyproject.toml").read_text()
    assert recipes()["unit"][0] == quick
