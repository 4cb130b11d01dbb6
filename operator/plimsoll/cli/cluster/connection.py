"""The cluster that a command reads, and the namespace that its user works in."""

import argparse
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from plimsoll.cli.cluster.refusals import explained
from plimsoll.errors import UnusableCluster
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.configured import configured, configured_namespace
from plimsoll.kube.http.credentials import Endpoint


@dataclass(frozen=True, slots=True)
class Cluster:
    """An API server, and the namespace to look at; None stands for all namespaces.

    `is_named`: the user has named it, rather than just working in it.
    """

    server: Endpoint
    namespace: str | None
    is_named: bool = False

    @asynccontextmanager
    async def client(self, *, right: str = "list") -> AsyncGenerator[KubeClient]:
        """A client with the user's own rights; only one for the `right` to patch can write.

        What the cluster refuses becomes UnusableCluster.
        """
        with explained(error_type=UnusableCluster, right=right):
            async with KubeClient.to(self.server, may_write=lambda: right == "patch") as client:
                yield client


def connected(options: argparse.Namespace) -> Cluster:
    """The cluster that the options name, as kubectl finds it. Raises UnusableCluster."""
    with explained(error_type=UnusableCluster):
        server = configured(options.kubeconfig, options.context)
        return Cluster(server, _namespace(options), is_named=bool(options.namespace))


def _namespace(options: argparse.Namespace) -> str | None:
    if options.all_namespaces:
        return None
    return options.namespace or configured_namespace(options.kubeconfig, options.context)
