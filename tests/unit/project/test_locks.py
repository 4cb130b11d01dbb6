import tomllib
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from support.project.locks import pins
from support.project.pages import ROOT

LOCKS = ROOT / "locks"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
SHIPPED = [
    *PROJECT["project"]["dependencies"],
    *PROJECT["project"]["optional-dependencies"]["agent"],
    *PROJECT["project"]["optional-dependencies"]["console"],
]
ASKED_FOR = {
    "shipped.txt": SHIPPED,
    "build.txt": PROJECT["build-system"]["requires"],
    "sbom.txt": PROJECT["dependency-groups"]["sbom"],
}
STALE = "run `make lock`"


def needed(roots: list[str]) -> set[NormalizedName]:
    """All packages that some ask for on this machine, as those that are installed say."""
    found: set[NormalizedName] = set()
    left = [(Requirement(root), "") for root in roots]
    while left:
        wanted, extra = left.pop()
        name = canonicalize_name(wanted.name)
        if name in found or (wanted.marker and not wanted.marker.evaluate({"extra": extra})):
            continue
        found.add(name)
        asked = [Requirement(each) for each in requires(name) or ()]
        left += [(each, extra) for each in asked for extra in wanted.extras or {""}]
    return found


@pytest.mark.parametrize("lock", sorted(LOCKS.iterdir()), ids=lambda lock: lock.name)
def test_each_package_of_a_lock_has_hashes(lock: Path) -> None:
    assert [name for name, pin in pins(lock).items() if not pin.hashes] == []


@pytest.mark.parametrize("lock", ASKED_FOR)
def test_a_lock_has_what_the_project_asks_for(lock: str) -> None:
    pinned = pins(LOCKS / lock)
    for wanted in map(Requirement, ASKED_FOR[lock]):
        version = pinned[canonicalize_name(wanted.name)].version
        assert wanted.specifier.contains(version), f"{wanted}: {STALE}"


@pytest.mark.parametrize("lock", ASKED_FOR)
def test_a_lock_has_the_versions_that_the_tests_run_with(lock: str) -> None:
    tested = {name: pin.version for name, pin in pins(ROOT / "constraints.txt").items()}
    locked = {name: pin.version for name, pin in pins(LOCKS / lock).items() if name in tested}
    assert locked == {name: tested[name] for name in locked}, STALE


def test_what_is_shipped_is_locked_and_nothing_else() -> None:
    assert pins(LOCKS / "shipped.txt").keys() == needed(SHIPPED), STALE
