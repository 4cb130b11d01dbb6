import re

import pytest

from support.project.pages import ROOT

PAGE = ROOT / "docs" / "design" / "threat-model.md"
FOLDERS = ("tests", "e2e")


def misuse_cases() -> list[list[str]]:
    """The rows of the table: what is tried, what happens, and the tests that hold it."""
    _, _, rest = PAGE.read_text().partition("\n## Misuse cases\n")
    table = re.findall(r"^\|.*\|$", rest.partition("\n## ")[0], re.MULTILINE)[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return [row for row in rows if not row[0].startswith("**")]


def names_of_tests() -> set[str]:
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("test_*.py")]
    return {
        name
        for file in files
        for name in re.findall(r"^(?:async )?def (test_\w+)\(", file.read_text(), re.MULTILINE)
    }


@pytest.mark.parametrize("row", misuse_cases(), ids=lambda row: row[0])
def test_each_misuse_case_is_held_by_tests(row: list[str]) -> None:
    tried, happens, held = row
    assert tried
    assert happens
    assert re.fullmatch(r"`test_\w+`(, `test_\w+`)*", held)


def test_what_the_threat_model_says_is_shown_by_names_of_tests() -> None:
    page = PAGE.read_text()
    named = set(re.findall(r"`(test_\w+)`", page))
    assert named
    assert named - names_of_tests() == set()
    paths = re.findall(r"`(tests/[\w/.]+)`", page)
    assert [path for path in paths if not (ROOT / path).exists()] == []
