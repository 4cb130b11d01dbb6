"""The plugin that krew installs is whole, named right, and runs what it brings."""

import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.project.pages import ROOT

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
DIST_INFO = f"plimsoll_operator-{VERSION}.dist-info"
HEAD, COMMAND = "Metadata-Version: 2.1\n", "kubectl-plimsoll"
MAIN = "import sys\n\n\ndef main():\n    print(sys.argv[0], sys.argv[1:])\n    return 5\n"


def a_wheel(folder: Path) -> Path:
    """A wheel of our name whose command says how it was called."""
    files = {
        "plimsoll/__init__.py": "",
        "plimsoll/cli.py": MAIN,
        f"{DIST_INFO}/METADATA": f"{HEAD}Name: plimsoll-operator\nVersion: {VERSION}\n",
        f"{DIST_INFO}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{DIST_INFO}/entry_points.txt": f"[console_scripts]\n{COMMAND} = plimsoll.cli:main\n",
    }
    records = "".join(f"{name},,\n" for name in (*files, f"{DIST_INFO}/RECORD"))
    path = folder / f"plimsoll_operator-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in {**files, f"{DIST_INFO}/RECORD": records}.items():
            wheel.writestr(name, content)
    return path


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """A folder with the plugin and its manifest."""
    packed(a_wheel(tmp_path))
    return tmp_path


def packed(wheel: Path) -> None:
    program = [sys.executable, str(ROOT / "hack" / "krew_plugin.py")]
    subprocess.run([*program, str(wheel), "owner/name"], check=True)


def unpacked(dist: Path) -> Path:
    """The folder that krew makes of the archive."""
    store = dist / "store"
    with tarfile.open(dist / "kubectl-plimsoll.tar.gz") as archive:
        archive.extractall(store, filter="data")
    return store


def manifest(dist: Path) -> dict[str, Any]:
    return yaml.safe_load((dist / "plimsoll.yaml").read_text())


def test_the_manifest_is_what_krew_asks_for(dist: Path) -> None:
    found = manifest(dist)
    assert found["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2"
    assert (found["kind"], found["metadata"]) == ("Plugin", {"name": "plimsoll"})
    spec = found["spec"]
    assert spec["version"] == f"v{VERSION}"
    assert 0 < len(spec["shortDescription"]) <= 50
    assert "\n" not in spec["shortDescription"]
    assert spec["description"]
    (platform,) = spec["platforms"]
    assert set(platform) <= {"selector", "uri", "sha256", "files", "bin"}
    assert platform["uri"].startswith("https://github.com/owner/name/releases/download/")
    assert re.fullmatch("[0-9a-f]{64}", platform["sha256"])
    (wanted,) = platform["selector"]["matchExpressions"]
    assert wanted == {"key": "os", "operator": "In", "values": ["linux", "darwin"]}


def test_the_manifest_names_the_archive_that_lies_beside_it(dist: Path) -> None:
    (platform,) = manifest(dist)["spec"]["platforms"]
    content = (dist / platform["uri"].rpartition("/")[2]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == platform["sha256"]
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        assert archive.getmember(platform["bin"]).mode & 0o111
        assert {*archive.getnames()} == {
            "kubectl-plimsoll",
            "VERSION",
            "LICENSE",
            "requirements.txt",
            f"plimsoll_operator-{VERSION}-py3-none-any.whl",
        }


def test_the_same_files_give_the_same_archive(dist: Path) -> None:
    archive = dist / "kubectl-plimsoll.tar.gz"
    first = archive.read_bytes()
    packed(next(dist.glob("*.whl")))
    assert archive.read_bytes() == first


@pytest.mark.slow
def test_the_first_call_installs_and_each_runs_the_command_as_kubectls(dist: Path) -> None:
    store = unpacked(dist)
    # What the command itself needs is installed by every other test.
    (store / "requirements.txt").write_text("")
    bin_ = dist / "bin"
    bin_.mkdir()
    (bin_ / "kubectl-plimsoll").symlink_to(store / "kubectl-plimsoll")
    environment = {**os.environ, "XDG_CACHE_HOME": str(dist / "cache")}
    environment.pop("PYTHONPATH", None)
    command = [str(bin_ / "kubectl-plimsoll"), "explain", "two words"]
    first, second = (
        subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
        for _ in range(2)
    )
    said = "kubectl-plimsoll ['explain', 'two words']\n"
    assert (first.returncode, first.stdout) == (5, said), first.stderr
    assert f"installing version {VERSION}, once" in first.stderr
    assert (second.returncode, second.stdout, second.stderr) == (5, said, "")


def test_without_a_python_that_is_new_enough_it_says_what_to_install(dist: Path) -> None:
    store = unpacked(dist)
    tools = dist / "tools"
    tools.mkdir()
    for tool in ("cat", "dirname", "readlink", "sh"):
        found = shutil.which(tool)
        assert found
        (tools / tool).symlink_to(found)
    ran = subprocess.run(
        [str(tools / "sh"), str(store / "kubectl-plimsoll")],
        check=False,
        capture_output=True,
        text=True,
        env={"PATH": str(tools), "HOME": str(dist)},
    )
    assert ran.returncode == 2
    assert "needs Python 3.11 or newer" in ran.stderr
