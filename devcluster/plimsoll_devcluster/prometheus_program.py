"""Where Prometheus is found, or comes from.

In this order:

1. `PLIMSOLL_PROMETHEUS_BINARY`, its path
2. `prometheus` on PATH
3. the cache, `${XDG_CACHE_HOME:-~/.cache}/plimsoll/prometheus-VERSION`
4. a build from Go modules into the cache
"""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from plimsoll_devcluster import cache, go_build, versions
from plimsoll_devcluster.source_failed import SourceFailedError

PROGRAM = "prometheus"


class NoPrometheusError(Exception):
    """There is no Prometheus and none could be had; the message says what would help."""


def find_prometheus(
    environment: Mapping[str, str], build: Callable[[Path], None] = go_build.build_prometheus
) -> Path:
    """Return the path of the program, after building it into the cache if need be.

    Raises NoPrometheusError.
    """
    if given := environment.get("PLIMSOLL_PROMETHEUS_BINARY"):
        if not _runs(Path(given)):
            raise NoPrometheusError(f"PLIMSOLL_PROMETHEUS_BINARY={given} is no program")
        return Path(given)
    if on_path := shutil.which(PROGRAM, path=environment.get("PATH", os.defpath)):
        return Path(on_path)
    folder = cache.cache_folder(environment, f"{PROGRAM}-{versions.PROMETHEUS}")
    if not _runs(folder / PROGRAM):
        with cache.alone(folder, "Prometheus"):
            if not _runs(folder / PROGRAM):
                _fill(folder, build)
    return folder / PROGRAM


def _fill(folder: Path, build: Callable[[Path], None]) -> None:
    try:
        with cache.published(folder) as partial:
            build(partial)
    except SourceFailedError as failure:
        raise NoPrometheusError(
            f"there is no Prometheus on this machine, and none could be built: {failure}\n"
            "Provide any one of these:\n"
            "  - `prometheus` on PATH; Debian and Ubuntu have a package of that name\n"
            "  - PLIMSOLL_PROMETHEUS_BINARY: the path of the program\n"
            "  - Go, and a network that reaches a Go module proxy"
        ) from failure


def _runs(program: Path) -> bool:
    return program.is_file() and os.access(program, os.X_OK)
