import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.project.pages import ROOT

APACHE = {"expression": "Apache-2.0"}
CLASSIFIER = {"license": {"name": "License :: OSI Approved :: MIT License"}}


def checked(folder: Path, *components: dict[str, Any]) -> tuple[int, str]:
    """The exit status, and what is said of packages that may not be shipped."""
    sbom = folder / "sbom.json"
    sbom.write_text(json.dumps({"components": components}))
    program = (sys.executable, ROOT / "hack" / "licences.py", sbom)
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.strip()


@pytest.mark.parametrize(
    "licences",
    [
        [APACHE],
        [{"license": {"id": "MIT"}}, CLASSIFIER],
        [{"expression": "(GPL-2.0-only OR MIT)"}],
        [{"expression": "BSD-3-Clause AND 0BSD"}],
    ],
)
def test_a_package_that_may_be_shipped_is_taken(tmp_path: Path, licences: list[Any]) -> None:
    assert checked(tmp_path, {"name": "fine", "licenses": licences}) == (0, "")


@pytest.mark.parametrize(
    ("licences", "why"),
    [
        ([], "none"),
        ([APACHE, {"license": {"id": "AGPL-3.0-only"}}], "AGPL-3.0-only"),
        ([{"expression": "MIT AND GPL-3.0-only"}], "MIT AND GPL-3.0-only"),
        ([{"license": {"name": "mine"}}], "mine"),
    ],
)
def test_a_package_that_nobody_has_looked_at_is_reported(
    tmp_path: Path, licences: list[Any], why: str
) -> None:
    fine = {"name": "fine", "licenses": [APACHE]}
    assert checked(tmp_path, fine, {"name": "odd", "licenses": licences}) == (1, f"odd: {why}")


def test_an_sbom_of_nothing_is_none(tmp_path: Path) -> None:
    assert checked(tmp_path)[0] == 1
