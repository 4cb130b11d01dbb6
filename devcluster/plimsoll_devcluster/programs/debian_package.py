"""Take programs from Debian or Ubuntu packages, unpacked but not installed.

This needs no root, starts no service and changes nothing outside the folder. apt verifies the
packages as it does those that it installs.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from plimsoll_devcluster.programs.announce import announce
from plimsoll_devcluster.programs.source_failed import SourceFailedError

SECONDS = 600
_NO_WAITING = ("-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=10")


def unpack_program(package: str, program: str, folder: Path) -> None:
    """Put a program of a package into `folder`. Raises SourceFailedError."""
    announce(f"getting {program} out of the package {package}, once")
    with tempfile.TemporaryDirectory(dir=folder) as work:
        unpack([package], Path(work))
        unpacked = Path(work, "usr", "bin", program)
        if not unpacked.is_file():
            raise SourceFailedError(f"the package has no {program}")
        unpacked.rename(folder / program)


def unpack_with_libraries(package: str, folder: Path, *beside: str) -> None:
    """Put a package, and those `beside`, into `folder` with all that they need and that is missing.

    Raises SourceFailedError.
    """
    _check_for_apt()
    needed = _to_be_installed(package, *beside)
    if package not in needed:
        raise SourceFailedError(f"the package {package} is installed, and yet lacks its program")
    announce(f"getting the package {package} and the libraries that it needs, once")
    unpack(needed, folder)


def unpack(packages: Iterable[str], folder: Path) -> None:
    """Put all that packages hold into `folder`. Raises SourceFailedError."""
    _check_for_apt()
    with tempfile.TemporaryDirectory(dir=folder) as work:
        names = list(packages)
        _run(["apt-get", *_NO_WAITING, "download", *names], work)
        for package in names:
            packed = next(Path(work).glob(f"{package}_*.deb"), None)
            if packed is None:
                raise SourceFailedError(f"apt-get knows no package {package}")
            _run(["dpkg-deb", "--extract", str(packed), str(folder.resolve())], work)


def _check_for_apt() -> None:
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise SourceFailedError("this is no Debian or Ubuntu")


def _to_be_installed(*packages: str) -> list[str]:
    command = ["apt-get", "--simulate", "--no-install-recommends", "install", *packages]
    lines = _run(command, ".").splitlines()
    return [line.split()[1] for line in lines if line.startswith("Inst ")]


def _run(command: list[str], folder: str) -> str:
    """What a command prints."""
    try:
        done = subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip().splitlines()
        raise SourceFailedError(said[-1] if said else f"{command[0]} failed") from error
    except subprocess.TimeoutExpired as error:
        raise SourceFailedError(f"{command[0]} took longer than {SECONDS} s") from error
    else:
        return done.stdout
