"""The page's libraries are those that vendor.json names, and nothing else."""

import hashlib
import json
import re
from typing import Any

import pytest

from support.project.pages import ROOT

FOLDER = ROOT / "console" / "plimsoll_console" / "page" / "static" / "vendor"
LIST = FOLDER / "vendor.json"
PACKAGES: list[dict[str, Any]] = json.loads(LIST.read_text())
FILES = [file for package in PACKAGES for file in package["files"]]
PERMISSIVE = {"Apache-2.0", "BSD-3-Clause", "ISC", "MIT"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file["file"])
def test_a_library_is_as_it_was_fetched(file: dict[str, str]) -> None:
    content = (FOLDER / file["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == file["sha256"]


def test_every_library_is_listed() -> None:
    there = {path.name for path in FOLDER.iterdir()} - {LIST.name}
    assert there == {file["file"] for file in FILES}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package["package"])
def test_a_library_may_be_shipped_and_its_licence_is(package: dict[str, Any]) -> None:
    assert package["licence"] in PERMISSIVE
    assert any(file["file"].endswith(".LICENSE") for file in package["files"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file["file"])
def test_a_library_imports_only_what_is_beside_it(file: dict[str, str]) -> None:
    imported = re.findall(r'\bfrom\s*"([^"]+)"', (FOLDER / file["file"]).read_text())
    assert all((FOLDER / name).is_file() for name in imported)
