"""One cluster to work on: a control plane of our own, or a cluster given on purpose."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.programs.control_plane_programs import find_programs


class Cluster(Protocol):
    """What both kinds can do."""

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig that leads to it."""
        ...

    @property
    def api(self) -> ApiServer:
        """A connection to its API server."""
        ...

    def check(self) -> None:
        """Raise if it is broken."""

    def restart_api_server(self) -> None:
        """Crash the API server and bring it back."""


class NotOursError(Exception):
    """A given cluster's programs are not ours to stop."""


class GivenCluster:
    """A cluster that somebody else runs, with KWOK or with real nodes."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.api = ApiServer(kubeconfig)

    def check(self) -> None:
        """Raise if its API server does not respond."""
        self.api.get("/version")

    def restart_api_server(self) -> None:
        """Refuse."""
        raise NotOursError("the cluster of PLIMSOLL_KUBECONFIG is not ours to restart")


@contextmanager
def open_cluster(environment: Mapping[str, str]) -> Generator[Cluster]:
    """Yield the cluster of `PLIMSOLL_KUBECONFIG`, otherwise a new control plane of our own."""
    if given := environment.get("PLIMSOLL_KUBECONFIG"):
        cluster = GivenCluster(Path(given))
        cluster.check()
        yield cluster
        return
    with ControlPlane(find_programs(environment)) as control_plane:
        yield control_plane
