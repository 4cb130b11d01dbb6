"""What the page's policy forbids, what would make markup of a name, and what is loaded."""

import re
from pathlib import Path

import pytest

from support.project.pages import ROOT

STATIC = ROOT / "console" / "plimsoll_console" / "page" / "static"
OURS = [path for path in sorted(STATIC.rglob("*")) if path.is_file() and "vendor" not in path.parts]
SCRIPTS = [path for path in OURS if path.suffix == ".js"]
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    r"|dangerouslySetInnerHTML|srcdoc|javascript:"
)
STATIC_IMPORT = re.compile(r'\b(?:from|import)\s*"(\.[^"]+)"')


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_nothing_is_had_from_elsewhere(path: Path) -> None:
    text = path.read_text().replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?://|data:image|@import", text)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_script_makes_markup_of_text(path: Path) -> None:
    assert not FORBIDDEN.search(path.read_text())


def test_the_document_has_neither_scripts_nor_styles_of_its_own() -> None:
    document = (STATIC / "index.html").read_text()
    assert re.findall(r"<script(?![^>]* src=)[^>]*>|<style|\son\w+=|\sstyle=", document) == []


def test_the_document_names_what_it_shows_first_so_that_no_script_waits_for_another() -> None:
    document = (STATIC / "index.html").read_text()
    named = re.findall(r'(?:modulepreload" href|module" src)="([^"]+\.js)"', document)
    assert sorted(named) == sorted(imported_by("app/main.js", set()))


def imported_by(script: str, known: set[str]) -> set[str]:
    """A script of the page and all that it needs before it runs, not those it imports later."""
    known.add(script)
    for name in STATIC_IMPORT.findall((STATIC / script).read_text()):
        path = (STATIC / script).parent / name
        found = path.resolve().relative_to(STATIC.resolve()).as_posix()
        if found not in known:
            imported_by(found, known)
    return known
