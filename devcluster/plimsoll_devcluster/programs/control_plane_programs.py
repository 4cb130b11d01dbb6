"""Find the programs of the control plane, or provide them.

In this order:

1. `KUBEBUILDER_ASSETS`, a folder that holds all of them
2. the cache, `${XDG_CACHE_HOME:-~/.cache}/plimsoll/control-plane-VERSION`
3. a download into the cache
4. a build from Go modules into the cache

An existing cluster, given by `PLIMSOLL_KUBECONFIG`, needs none of them: see `cluster`.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from plimsoll_devcluster.processes.program_flags import PROGRAMS
from plimsoll_devcluster.programs import cache, download, go_build, versions
from plimsoll_devcluster.programs.announce import announce
from plimsoll_devcluster.programs.sources import Source, failures_to_fill


class NoProgramsError(Exception):
    """The programs were neither found nor obtained; the message says what would help."""


SOURCES = (Source("download", download.fetch), Source("build", go_build.build))


def find_programs(environment: Mapping[str, str], sources: Sequence[Source] = SOURCES) -> Path:
    """Return the folder of the programs, filling the cache from `sources` if necessary.

    Raises NoProgramsError.
    """
    if assets := environment.get("KUBEBUILDER_ASSETS"):
        missing = missing_programs(Path(assets))
        if not missing:
            return Path(assets)
        announce(f"KUBEBUILDER_ASSETS={assets} has no {', '.join(missing)}; looking elsewhere")
    folder = cache_folder(environment)
    failures = failures_to_fill(
        folder, sources, what="the control plane", is_full=lambda: not missing_programs(folder)
    )
    if failures:
        raise _none(folder, failures)
    return folder


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder that keeps programs between runs."""
    return cache.cache_folder(environment, f"control-plane-{versions.KUBERNETES}")


def missing_programs(folder: Path) -> list[str]:
    """Return the names of the programs that `folder` lacks."""
    return [name for name in PROGRAMS if not os.access(folder / name, os.X_OK)]


def _none(folder: Path, failures: Sequence[str]) -> NoProgramsError:
    return NoProgramsError(
        "there is no Kubernetes control plane on this machine, and none could be had:\n  "
        + "\n  ".join(failures)
        + "\nProvide any one of these:\n"
        "  - PLIMSOLL_KUBECONFIG: the kubeconfig of a cluster to use instead\n"
        f"  - KUBEBUILDER_ASSETS: a folder with {', '.join(PROGRAMS)}\n"
        f"  - the same programs in {folder}\n"
        "  - a network that reaches github.com and dl.k8s.io\n"
        "  - Go, and a network that reaches a Go module proxy"
    )
