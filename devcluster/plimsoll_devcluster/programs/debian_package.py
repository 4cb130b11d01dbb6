"""Take a program from a Debian or Ubuntu package, unpacked but not installed.

This needs no root, starts no service and changes nothing outside the folder. apt verifies the
package as it does those that it installs.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

from plimsoll_devcluster.programs.announce import announce
from plimsoll_devcluster.programs.source_failed import SourceFailedError

SECONDS = 120
_NO_WAITING = ("-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=10")


def unpack_program(package: str, program: str, folder: Path) -> None:
    """Put a program of a package into `folder`. Raises SourceFailedError."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise SourceFailedError("this is no Debian or Ubuntu")
    announce(f"getting {program} out of the package {package}, once")
    with tempfile.TemporaryDirectory(dir=folder) as work:
        _run(["apt-get", *_NO_WAITING, "download", package], work)
        packed = next(Path(work).glob(f"{package}_*.deb"), None)
        if packed is None:
            raise SourceFailedError(f"apt-get knows no package {package}")
        _run(["dpkg-deb", "--extract", str(packed), "content"], work)
        unpacked = Path(work, "content", "usr", "bin", program)
        if not unpacked.is_file():
            raise SourceFailedError(f"the package has no {program}")
        unpacked.rename(folder / program)


def _run(command: list[str], folder: str) -> None:
    try:
        subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip().splitlines()
        raise SourceFailedError(said[-1] if said else f"{command[0]} failed") from error
    except subprocess.TimeoutExpired as error:
        raise SourceFailedError(f"{command[0]} took longer than {SECONDS} s") from error
