"""The project's image by itself: what is in it, and what is not. It needs Docker and no cluster."""

import json
import os
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from harness.commands import run
from harness.images import ROOT, build_operator
from harness.requirements import require, what_lacks
from support.project.locks import pins

# What turns a foothold into more, and what only a build needs.
TOOLS = (
    "gcc",
    "g++",
    "cc",
    "c++",
    "clang",
    "ld",
    "as",
    "make",
    "cargo",
    "go",
    "git",
    "curl",
    "wget",
)
INSTALLERS = ("pip", "setuptools", "hatchling")
FOLDERS = ("/src", "/wheels", "/root/.cache")
# What we lay on the base; OR-Tools, NumPy and pandas are 200 of it, SQLAlchemy 30.
ADDED_BYTES = 340 * 10**6

SEEN_FROM_WITHIN = f"""
import importlib.util, json, os, pathlib, shutil
home = pathlib.Path("/opt/plimsoll")
files = [file for file in home.rglob("*") if file.is_file()]
print(json.dumps({{
    "user": os.getuid(),
    "tools": [tool for tool in {TOOLS!r} if shutil.which(tool)],
    "installers": [each for each in {INSTALLERS!r} if importlib.util.find_spec(each)],
    "left of the build": [each for each in {FOLDERS!r} if os.path.exists(each)],
    "may be written": [str(file) for file in files if os.access(file, os.W_OK)],
    "not compiled": [
        str(file) for file in home.glob("lib/python3*/site-packages/plimsoll*/**/*.py")
        if not pathlib.Path(importlib.util.cache_from_source(str(file))).exists()
    ],
}}))
"""


# What the image says of itself, by other means than those of the SBOM.
INSTALLED = """
import json, subprocess
from importlib.metadata import distributions
debian = subprocess.run(
    ["dpkg-query", "--show", "--showformat=${Package} ${Version} ${db:Status-Status}\\n"],
    capture_output=True, text=True, check=True,
).stdout
print(json.dumps({
    "debian": [line.split()[:2] for line in debian.splitlines() if line.endswith(" installed")],
    "python": [[each.metadata["Name"], each.version] for each in distributions()],
}))
"""


@pytest.fixture(scope="module")
def built() -> str:
    """The image, just as the cluster of the other tests gets it."""
    if given := os.environ.get("PLIMSOLL_IMAGE"):
        return given
    require(what_lacks())
    return build_operator(os.environ)


def inside(image: str, *command: str) -> str:
    """What a command prints in a container that may do as little as the chart allows."""
    guarded = (
        "--read-only",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges",
        "--network=none",
    )
    return run("docker", "run", "--rm", *guarded, f"--entrypoint={command[0]}", image, *command[1:])


def test_nothing_is_in_it_that_only_a_build_needs(built: str) -> None:
    assert json.loads(inside(built, "python3", "-c", SEEN_FROM_WITHIN)) == {
        "user": 65532,
        "tools": [],
        "installers": [],
        "left of the build": [],
        "may be written": [],
        "not compiled": [],
    }


@pytest.fixture(scope="module")
def listed(built: str, tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str, str]]:
    """What the image's SBOM has: the kind of each package, its name and its version."""
    file = tmp_path_factory.mktemp("sbom") / "image.json"
    run("make", "--directory", ROOT, "image-sbom", f"IMAGE={built}", f"IMAGE_SBOM={file}")
    found: list[dict[str, str]] = json.loads(Path(file).read_text())["components"]
    return {(each["purl"].split("/")[0], each["name"], each["version"]) for each in found}


def test_its_sbom_has_all_packages_of_debian_and_python(
    built: str, listed: set[tuple[str, str, str]]
) -> None:
    installed = json.loads(inside(built, "python3", "-c", INSTALLED))
    debian = {("pkg:deb", name, version) for name, version in installed["debian"]}
    python = {
        ("pkg:pypi", canonicalize_name(name), version) for name, version in installed["python"]
    }
    assert len(debian) > 50
    assert {each for each in listed if each[0] == "pkg:deb"} == debian
    assert python <= listed


def test_it_has_what_is_locked(listed: set[tuple[str, str, str]]) -> None:
    locked = pins(ROOT / "locks" / "shipped.txt")
    assert {("pkg:pypi", name, pin.version) for name, pin in locked.items()} <= listed


def test_the_programs_start_in_it(built: str) -> None:
    for program in ("plimsoll", "kopf"):
        assert "usage:" in inside(built, program, "--help").lower()


def test_it_adds_one_layer_to_its_base_and_a_small_one(built: str) -> None:
    [image] = json.loads(run("docker", "image", "inspect", built))
    lines = run("docker", "history", "--human=false", "--format={{.Size}} {{.CreatedBy}}", built)
    ours, _, _ = lines.partition("LABEL")
    sizes = [int(line.split()[0]) for line in ours.splitlines() if line and line[0] != "0"]
    assert len(sizes) == 1, "what was copied from the build"
    assert 0 < sizes[0] < ADDED_BYTES
    assert image["Config"]["User"] == "65532:65532"
    assert image["Config"]["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"
