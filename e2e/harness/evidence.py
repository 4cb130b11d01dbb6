"""What is kept of a cluster when a test has failed: objects, events, and what was logged."""

from collections.abc import Iterable
from pathlib import Path

from harness.commands import CommandFailedError
from harness.deployed_operator import DeployedOperator
from harness.real_cluster import RealCluster
from harness.release import NAMESPACE

_OBJECTS = "nodes,pods,services,poddisruptionbudgets,leases.coordination.k8s.io,priorityclasses"
_ASKED = {
    "objects.yaml": ("get", _OBJECTS, "--all-namespaces", "--output=yaml"),
    "ours.yaml": ("get", "plimsoll", "--all-namespaces", "--output=yaml"),
    "ours.txt": ("get", "plimsoll", "--all-namespaces", "--output=wide"),
    "pods.txt": ("get", "pods", "--all-namespaces", "--output=wide"),
    "events.txt": ("get", "events", "--all-namespaces", "--sort-by=.metadata.creationTimestamp"),
}


def collect(cluster: RealCluster, folder: Path) -> None:
    """Write down what the cluster is like now; what cannot be had is said in its file."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, arguments in _ASKED.items():
        (folder / name).write_text(_said(cluster, arguments))
    logs = folder / "logs"
    _dump_logs(cluster, logs, _namespaces(cluster))
    operator = DeployedOperator(cluster.api)
    for pod in operator.pods():
        (folder / f"{pod['metadata']['name']}.previous.log").write_text(
            operator.log(pod, previous=True)
        )


def _namespaces(cluster: RealCluster) -> list[str]:
    names = [each["metadata"]["name"] for each in cluster.api.items("/api/v1/namespaces")]
    return [name for name in names if name == NAMESPACE or name.startswith("test-")]


def _dump_logs(cluster: RealCluster, folder: Path, namespaces: Iterable[str]) -> None:
    among = f"--namespaces={','.join(namespaces)}"
    _said(cluster, ("cluster-info", "dump", among, f"--output-directory={folder}"))


def _said(cluster: RealCluster, arguments: Iterable[str]) -> str:
    try:
        return cluster.kubectl(*arguments)
    except CommandFailedError as error:
        return str(error)
