"""Find a shell other than bash, to complete commands in, or unpack it from Debian's packages.

On PATH first; else `${XDG_CACHE_HOME:-~/.cache}/plimsoll/shell-NAME`, filled from the package of
Debian or Ubuntu. Elsewhere, install it.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from plimsoll_devcluster.programs import cache, debian_package
from plimsoll_devcluster.programs.announce import announce
from plimsoll_devcluster.programs.sources import Source, failures_to_fill

PACKAGES: Final[Mapping[str, Sequence[str]]] = {
    "zsh": ("zsh",),
    "fish": ("fish", "fish-common", "libpcre2-32-0"),
}
_PLACES: Final = ("bin", "usr/bin")
_LIBRARIES: Final = "usr/lib/*-linux-gnu"


class NoShellError(Exception):
    """The shell was neither found nor obtained; the message says what would help."""


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell, and what it needs in its environment."""

    path: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


def find_shell(name: str, environment: Mapping[str, str]) -> Shell:
    """Return the shell of that name, unpacking it if necessary. Raises NoShellError."""
    if on_path := shutil.which(name, path=environment.get("PATH", os.defpath)):
        return Shell(Path(on_path))
    folder = cache.cache_folder(environment, f"shell-{name}")
    failures = failures_to_fill(
        folder,
        [Source("package", partial(_unpack, name))],
        what=name,
        is_full=lambda: _program(folder, name) is not None,
    )
    program = _program(folder, name)
    if program is None:
        raise NoShellError(f"there is no {name}: install it ({', '.join(failures)})")
    libraries = ":".join(str(each) for each in folder.glob(_LIBRARIES))
    return Shell(program, {"LD_LIBRARY_PATH": libraries} if libraries else {})


def _unpack(name: str, folder: Path) -> None:
    announce(f"getting {name} out of its package, once")
    debian_package.unpack(PACKAGES[name], folder)


def _program(folder: Path, name: str) -> Path | None:
    found = (folder / place / name for place in _PLACES)
    return next((each for each in found if each.is_file()), None)
