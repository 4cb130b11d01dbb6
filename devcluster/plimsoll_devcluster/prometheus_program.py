"""Where Prometheus is found, or comes from.

In this order:

1. `PLIMSOLL_PROMETHEUS_BINARY`, its path
2. `prometheus` on PATH
3. the cache, `${XDG_CACHE_HOME:-~/.cache}/plimsoll/prometheus-VERSION`
4. the package of Debian or Ubuntu, unpacked into the cache
5. a build from Go modules into the cache, of VERSION
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from plimsoll_devcluster import cache, debian_package, go_build, versions
from plimsoll_devcluster.sources import Source, failures_to_fill

PROGRAM = "prometheus"
SOURCES = (
    Source("package", partial(debian_package.unpack_program, PROGRAM)),
    Source("build", go_build.build_prometheus),
)


class NoPrometheusError(Exception):
    """There is no Prometheus and none could be had; the message says what would help."""


def find_prometheus(environment: Mapping[str, str], sources: Sequence[Source] = SOURCES) -> Path:
    """Return the path of the program, after filling the cache from `sources` if need be.

    Raises NoPrometheusError.
    """
    if given := environment.get("PLIMSOLL_PROMETHEUS_BINARY"):
        if not _runs(Path(given)):
            raise NoPrometheusError(f"PLIMSOLL_PROMETHEUS_BINARY={given} is no program")
        return Path(given)
    if on_path := shutil.which(PROGRAM, path=environment.get("PATH", os.defpath)):
        return Path(on_path)
    folder = cache.cache_folder(environment, f"{PROGRAM}-{versions.PROMETHEUS}")
    failures = failures_to_fill(
        folder, sources, what="Prometheus", is_full=lambda: _runs(folder / PROGRAM)
    )
    if failures:
        raise _none(failures)
    return folder / PROGRAM


def _none(failures: Sequence[str]) -> NoPrometheusError:
    return NoPrometheusError(
        "there is no Prometheus on this machine, and none could be had:\n  "
        + "\n  ".join(failures)
        + "\nProvide any one of these:\n"
        "  - `prometheus` on PATH; Debian and Ubuntu have a package of that name\n"
        "  - PLIMSOLL_PROMETHEUS_BINARY: the path of the program\n"
        "  - Go, and a network that reaches a Go module proxy"
    )


def _runs(program: Path) -> bool:
    return program.is_file() and os.access(program, os.X_OK)
