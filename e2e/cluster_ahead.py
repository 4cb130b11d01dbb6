"""The cluster of the tests, made while something else runs: with the images, and kept until told.

    python e2e/cluster_ahead.py FILE

FILE is written when all is ready: a line of shell that has `make e2e` take this cluster. It is
deleted when this program is ended (SIGTERM, SIGINT).
"""

import os
import shlex
import signal
import sys
from pathlib import Path

from harness.images import build_operator, build_training
from harness.real_cluster import RealCluster, open_real_cluster
from plimsoll_devcluster.processes.ending import end_on_signals


def main() -> None:
    """Make the cluster, say so, and wait for the end."""
    ready = Path(sys.argv[1])
    with end_on_signals(), open_real_cluster(os.environ) as cluster:
        for build in (build_operator, build_training):
            cluster.load(build(os.environ))
        part = ready.with_suffix(".part")
        part.write_text(f"export {' '.join(settings(cluster))}\n")
        part.rename(ready)
        signal.pause()


def settings(cluster: RealCluster) -> list[str]:
    """The environment variables by which the tests take a cluster, each as `NAME=value`."""
    given = {
        "PLIMSOLL_KUBECONFIG": str(cluster.kubeconfig),
        "PLIMSOLL_SHARED_FOLDER": str(cluster.shared or ""),
    }
    return [f"{name}={shlex.quote(value)}" for name, value in given.items() if value]


if __name__ == "__main__":
    main()
