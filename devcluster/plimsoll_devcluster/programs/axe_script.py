"""Find axe-core, the script that looks for what keeps people from using a page, or fetch it.

In this order: `PLIMSOLL_AXE_SCRIPT`, its path; the cache; npm's package.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from plimsoll_devcluster.programs import cache, npm_package, versions
from plimsoll_devcluster.programs.sources import Source, failures_to_fill

VARIABLE: Final = "PLIMSOLL_AXE_SCRIPT"
SCRIPT: Final = "axe.min.js"
SOURCES: Final = (Source("npm", partial(npm_package.unpack_files, versions.AXE, {SCRIPT: SCRIPT})),)


class NoAxeError(Exception):
    """axe-core was neither found nor obtained; the message says what would help."""


def find_axe(environment: Mapping[str, str], sources: Sequence[Source] = SOURCES) -> Path:
    """Return the path of the script, filling the cache from `sources` if necessary.

    Raises NoAxeError.
    """
    if named := environment.get(VARIABLE):
        if not os.access(named, os.R_OK):
            raise NoAxeError(f"{VARIABLE}={named} cannot be read")
        return Path(named)
    folder = cache.cache_folder(environment, f"axe-{versions.AXE.version}")
    script = folder / SCRIPT
    failures = failures_to_fill(folder, sources, what="axe-core", is_full=script.is_file)
    if failures:
        raise NoAxeError(
            "there is no axe-core on this machine, and it could not be had:\n  "
            + "\n  ".join(failures)
            + f"\nProvide npm and a network that reaches its registry, or {VARIABLE}, the path of"
            f" {SCRIPT} of the npm package axe-core {versions.AXE.version}"
        )
    return script
