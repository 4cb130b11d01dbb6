"""Take files from a package of npm's registry, by npm itself, and verify the package's hash.

Nothing is installed and no script of the package is run.
"""

import base64
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from plimsoll_devcluster.programs.announce import announce
from plimsoll_devcluster.programs.source_failed import SourceFailedError

SECONDS = 300
ROOT = "package/"  # of every package's archive


@dataclass(frozen=True, slots=True)
class NpmPackage:
    """A package at a version, and the hash that the registry publishes: `npm view NAME dist`."""

    name: str
    version: str
    integrity: str


def unpack_files(package: NpmPackage, files: Mapping[str, str], folder: Path) -> None:
    """Write files of the package, by their paths in it, under the names given into `folder`.

    Raises SourceFailedError.
    """
    if not shutil.which("npm"):
        raise SourceFailedError("there is no npm on this machine")
    announce(f"getting {package.name} {package.version} from npm's registry")
    with tempfile.TemporaryDirectory() as work:
        archive = _packed(package, Path(work))
        if _integrity(archive) != package.integrity:
            raise SourceFailedError(f"{package.name} {package.version} has not the hash expected")
        with tarfile.open(archive) as tar:
            for path, name in files.items():
                _extract(tar, path, folder / name)


def _packed(package: NpmPackage, work: Path) -> Path:
    command = ["npm", "pack", "--silent", f"{package.name}@{package.version}"]
    try:
        subprocess.run(
            command, cwd=work, check=True, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip().splitlines()
        raise SourceFailedError(said[-1] if said else "npm pack failed") from error
    except subprocess.TimeoutExpired as error:
        raise SourceFailedError(f"npm pack took longer than {SECONDS} s") from error
    return next(work.glob("*.tgz"))


def _integrity(archive: Path) -> str:
    return f"sha512-{base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()}"


def _extract(tar: tarfile.TarFile, path: str, target: Path) -> None:
    try:
        content = tar.extractfile(ROOT + path)
    except KeyError:
        content = None
    if content is None:
        raise SourceFailedError(f"the package has no {path}")
    with content, target.open("wb") as output:
        shutil.copyfileobj(content, output)
