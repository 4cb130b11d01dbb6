"""Real nodes that say that they have GPUs.

The kubelet leaves alone what it is told of a resource that no device plugin of its own has, and
starts pods that ask for it.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.fake_nodes import NODES, gpu_labels
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.leftovers import cluster_objects, remove_new_objects
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until

GPU = "nvidia.com/gpu"
KUBELET_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes that a test has; each offers what the test says."""

    api: ApiServer
    names: tuple[str, str]

    def offer(self, *gpus: int, gpu_type: str = H100) -> tuple[str, ...]:
        """Let as many nodes as there are numbers offer so many GPUs; their names."""
        names = self.names[: len(gpus)]
        for name, count in zip(names, gpus, strict=True):
            offer_gpus(self.api, name, count, gpu_type)
        return names


@contextmanager
def borrowed(api: ApiServer, names: tuple[str, str]) -> Generator[Nodes]:
    """Two nodes for a test; afterwards they and the cluster-wide objects are as before."""
    before = [api.get(f"{NODES}/{name}") for name in names]
    there = cluster_objects(api)
    try:
        yield Nodes(api, names)
    finally:
        remove_new_objects(api, there)
        for node in before:
            restore(api, node)


def offer_gpus(
    api: ApiServer,
    node: str,
    gpus: int,
    gpu_type: str = H100,
    *,
    labels: Mapping[str, str] | None = None,
) -> None:
    """Let a node offer so many GPUs, and wait until the kubelet says so, too."""
    wanted = {**gpu_labels(gpu_type, gpus), **(labels or {})}
    wanted.pop("node.kubernetes.io/instance-type")  # the kubelet's own to say
    api.merge(f"{NODES}/{node}", {"metadata": {"labels": wanted}})
    _set_amount(api, node, str(gpus))
    wait_until(
        partial(_is_offered, api, node, str(gpus)),
        timeout_seconds=KUBELET_SECONDS,
        what=f"{node} offers {gpus} GPUs",
    )


def restore(api: ApiServer, before: Manifest) -> None:
    """Make a node as it was before: its labels, taints and cordon, and without GPUs."""
    path = f"{NODES}/{before['metadata']['name']}"
    had = before["metadata"]["labels"]
    new = set(api.get(path)["metadata"]["labels"]) - set(had)
    spec = {key: before["spec"].get(key) for key in ("taints", "unschedulable")}
    api.merge(path, {"metadata": {"labels": {**had, **dict.fromkeys(new)}}, "spec": spec})
    _set_amount(api, before["metadata"]["name"], None)


def _set_amount(api: ApiServer, node: str, amount: str | None) -> None:
    amounts = {"capacity": {GPU: amount}, "allocatable": {GPU: amount}}
    api.merge(f"{NODES}/{node}/status", {"status": amounts})


def _is_offered(api: ApiServer, node: str, amount: str) -> bool:
    return api.get(f"{NODES}/{node}")["status"]["allocatable"].get(GPU) == amount
