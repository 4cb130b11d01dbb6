"""Find Prometheus and promtool, which checks its rules, or provide them.

In this order:

1. `PLIMSOLL_PROMETHEUS_BINARY` or `PLIMSOLL_PROMTOOL_BINARY`, its path
2. `prometheus` or `promtool` on PATH
3. the cache, `${XDG_CACHE_HOME:-~/.cache}/plimsoll/prometheus-VERSION` or `promtool-VERSION`
4. the package of Debian or Ubuntu, which has both, unpacked into the cache
5. a build from Go modules into the cache, of VERSION
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from plimsoll_devcluster.programs import cache, debian_package, go_build, versions
from plimsoll_devcluster.programs.sources import Source, failures_to_fill

PROMETHEUS = "prometheus"
PROMTOOL = "promtool"


class NoPrometheusError(Exception):
    """Prometheus was neither found nor obtained; the message says what would help."""


def sources(program: str) -> tuple[Source, ...]:
    """The sources that can fill the cache with one of the two programs."""
    return (
        Source("package", partial(debian_package.unpack_program, PROMETHEUS, program)),
        Source("build", partial(go_build.build_prometheus, program)),
    )


def find_prometheus(
    environment: Mapping[str, str], given: Sequence[Source] = sources(PROMETHEUS)
) -> Path:
    """Return the path of the program, filling the cache from the sources if necessary.

    Raises NoPrometheusError.
    """
    return _found(PROMETHEUS, environment, given)


def find_promtool(
    environment: Mapping[str, str], given: Sequence[Source] = sources(PROMTOOL)
) -> Path:
    """Return the path of promtool; otherwise as `find_prometheus`."""
    return _found(PROMTOOL, environment, given)


def _found(program: str, environment: Mapping[str, str], given: Sequence[Source]) -> Path:
    variable = f"PLIMSOLL_{program.upper()}_BINARY"
    if named := environment.get(variable):
        if not _runs(Path(named)):
            raise NoPrometheusError(f"{variable}={named} is no program")
        return Path(named)
    if on_path := shutil.which(program, path=environment.get("PATH", os.defpath)):
        return Path(on_path)
    folder = cache.cache_folder(environment, f"{program}-{versions.PROMETHEUS}")
    failures = failures_to_fill(
        folder, given, what=program, is_full=lambda: _runs(folder / program)
    )
    if failures:
        raise _none(program, variable, failures)
    return folder / program


def _none(program: str, variable: str, failures: Sequence[str]) -> NoPrometheusError:
    return NoPrometheusError(
        f"there is no {program} on this machine, and none could be had:\n  "
        + "\n  ".join(failures)
        + "\nProvide any one of these:\n"
        f"  - `{program}` on PATH; it is in Debian's and Ubuntu's package prometheus\n"
        f"  - {variable}: the path of the program\n"
        "  - Go, and a network that reaches a Go module proxy"
    )


def _runs(program: Path) -> bool:
    return program.is_file() and os.access(program, os.X_OK)
