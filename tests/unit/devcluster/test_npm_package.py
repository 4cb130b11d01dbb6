"""A stand-in for npm on PATH hands out archives: what is done with them is ours."""

import base64
import hashlib
import tarfile
from pathlib import Path

import pytest

from plimsoll_devcluster.programs.npm_package import NpmPackage, unpack_files
from plimsoll_devcluster.programs.source_failed import SourceFailedError


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The archive that the registry holds, with `package/dist/a.js`."""
    script = tmp_path / "a.js"
    script.write_text("export const a = 1;")
    packed = tmp_path / "a-1.0.0.tgz"
    with tarfile.open(packed, "w:gz") as tar:
        tar.add(script, "package/dist/a.js")
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(f'#!/bin/sh\n[ "$3" = a@1.0.0 ] && exec /bin/cp {packed} .\nexit 1\n')
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(npm.parent))
    return packed


def package(archive: Path, version: str = "1.0.0") -> NpmPackage:
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    return NpmPackage("a", version, f"sha512-{digest}")


def test_files_are_taken_under_other_names(archive: Path, tmp_path: Path) -> None:
    unpack_files(package(archive), {"dist/a.js": "b.js"}, tmp_path)
    assert (tmp_path / "b.js").read_text() == "export const a = 1;"


def test_a_package_with_another_hash_is_not_touched(archive: Path, tmp_path: Path) -> None:
    expected = package(archive)
    with tarfile.open(archive, "w:gz"):
        pass
    with pytest.raises(SourceFailedError, match="not the hash"):
        unpack_files(expected, {"dist/a.js": "b.js"}, tmp_path)
    assert not (tmp_path / "b.js").exists()


def test_a_file_that_is_not_there_is_named(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceFailedError, match=r"dist/c\.js"):
        unpack_files(package(archive), {"dist/c.js": "c.js"}, tmp_path)


def test_a_package_that_npm_does_not_find_is_a_failure(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceFailedError, match="npm pack failed"):
        unpack_files(package(archive, "2.0.0"), {}, tmp_path)


def test_a_machine_without_npm_is_told(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SourceFailedError, match="no npm"):
        unpack_files(package(archive), {}, tmp_path)
