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
from plimsoll_devcluster.programs import Source
from plimsoll_devcluster.source_failed import SourceFailedError
from plimsoll_devcluster.telling import tell

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
    if not _runs(folder / PROGRAM):
        with cache.alone(folder, "Prometheus"):
            if not _runs(folder / PROGRAM):
                _fill(folder, sources)
    return folder / PROGRAM


def _fill(folder: Path, sources: Sequence[Source]) -> None:
    failures: list[str] = []
    for source in sources:
        try:
            with cache.published(folder) as partial_folder:
                source.fill(partial_folder)
        except SourceFailedError as failure:
            failures.append(f"{source.name}: {failure}")
            tell(f"no Prometheus by {failures[-1]}")
        else:
            return
    raise NoPrometheusError(
        "there is no Prometheus on this machine, and none could be had:\n  "
        + "\n  ".join(failures)
        + "\nProvide any one of these:\n"
        "  - `prometheus` on PATH; Debian and Ubuntu have a package of that name\n"
        "  - PLIMSOLL_PROMETHEUS_BINARY: the path of the program\n"
        "  - Go, and a network that reaches a Go module proxy"
    )


def _runs(program: Path) -> bool:
    return program.is_file() and os.access(program, os.X_OK)
