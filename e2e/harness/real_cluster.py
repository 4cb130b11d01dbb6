"""A cluster whose pods really run: one of kind, from its creation to its deletion, or a given one.

By environment variables:

- PLIMSOLL_KUBECONFIG: a cluster to use instead of making one. Images are loaded into it where kind
  has made it; PLIMSOLL_SHARED_FOLDER is a folder of this machine that its nodes see at SHARED.
- KIND_NODE_IMAGE and KIND_CONFIG: other than kind's own node image, other than kind.yaml.
"""

import secrets
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.commands import run
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes import ending

SHARED = "/plimsoll-e2e"
"""Where every node sees the folder that this machine shares with them."""

PATIENCE_SECONDS = 120
"""How long a test waits for something that real pods do, on a machine that is busy with others."""

# Everything of a pod but the process that holds its namespaces. A process that is gone meanwhile
# is no error.
_KILL_POD = """
for process in /proc/[0-9]*; do
  grep -qsE "$1" "$process/cgroup" || continue
  tr '\\0' ' ' <"$process/cmdline" 2>/dev/null | grep -q '^/pause' && continue
  kill -KILL "${process#/proc/}" 2>/dev/null
done
true
"""


@dataclass(frozen=True, slots=True)
class RealCluster:
    """A cluster; `kind_name` where kind made it, `shared` where its nodes see a folder of ours."""

    kubeconfig: Path
    kind_name: str | None
    shared: Path | None

    @property
    def api(self) -> ApiServer:
        """A connection to its API server."""
        return ApiServer(self.kubeconfig)

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """What kubectl prints."""
        return run("kubectl", f"--kubeconfig={self.kubeconfig}", *arguments, stdin=stdin)

    def workers(self) -> list[str]:
        """The nodes that take pods, by name."""
        nodes = self.api.items("/api/v1/nodes")
        return sorted(node["metadata"]["name"] for node in nodes if _takes_pods(node))

    def load(self, image: str) -> None:
        """Bring an image of this machine's Docker to the nodes; elsewhere they must pull it."""
        if self.kind_name is not None:
            nodes = f"--nodes={','.join(self.workers())}"
            run("kind", "load", "docker-image", image, f"--name={self.kind_name}", nodes)

    def crash(self, pod: Manifest) -> None:
        """Kill a pod's processes as a crash would, without a goodbye.

        Where the nodes are not ours to enter, the pod is deleted without grace, which is close.
        """
        meta = pod["metadata"]
        if self.kind_name is None:
            path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
            self.api.delete(f"{path}?gracePeriodSeconds=0")
            return
        uid = str(meta["uid"])
        either = f"{uid}|{uid.replace('-', '_')}"  # as cgroupfs and systemd write it
        run("docker", "exec", pod["spec"]["nodeName"], "sh", "-c", _KILL_POD, "sh", either)


@contextmanager
def open_real_cluster(environment: Mapping[str, str]) -> Generator[RealCluster]:
    """Yield the cluster of PLIMSOLL_KUBECONFIG, or else a new one, which is deleted at the end."""
    if given := environment.get("PLIMSOLL_KUBECONFIG"):
        shared = environment.get("PLIMSOLL_SHARED_FOLDER")
        yield RealCluster(Path(given), _kind_name(Path(given)), Path(shared) if shared else None)
        return
    with (
        tempfile.TemporaryDirectory(prefix="plimsoll-e2e-") as folder,
        _kind_cluster(environment, Path(folder)) as cluster,
    ):
        yield cluster


@contextmanager
def _kind_cluster(environment: Mapping[str, str], folder: Path) -> Generator[RealCluster]:
    name = f"plimsoll-{secrets.token_hex(3)}"
    shared = folder / "shared"
    shared.mkdir()
    layout = folder / "kind.yaml"
    config = Path(environment.get("KIND_CONFIG") or Path(__file__).parents[1] / "kind.yaml")
    layout.write_text(yaml.safe_dump(_sharing(yaml.safe_load(config.read_text()), shared)))
    cluster = RealCluster(folder / "kubeconfig", name, shared)
    image = environment.get("KIND_NODE_IMAGE")

    def delete() -> None:
        run("kind", "delete", "cluster", f"--name={name}", f"--kubeconfig={cluster.kubeconfig}")

    ending.undo_at_end(delete)
    try:
        run(
            *("kind", "create", "cluster", f"--name={name}", f"--config={layout}"),
            *(f"--kubeconfig={cluster.kubeconfig}", "--wait=2m"),
            *([f"--image={image}"] if image else []),
        )
        yield cluster
    finally:
        delete()
        ending.forget(delete)


def _sharing(layout: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The layout, with a folder of this machine mounted into every node."""
    mount = {"hostPath": str(folder), "containerPath": SHARED}
    for node in layout["nodes"]:
        node["extraMounts"] = [*node.get("extraMounts", ()), mount]
    return layout


def _kind_name(kubeconfig: Path) -> str | None:
    """By what name kind knows a cluster; None where kind has not made it."""
    context = str(yaml.safe_load(kubeconfig.read_text()).get("current-context", ""))
    return context.removeprefix("kind-") if context.startswith("kind-") else None


def _takes_pods(node: Manifest) -> bool:
    return not any(
        taint["effect"] != "PreferNoSchedule" for taint in node["spec"].get("taints", ())
    )
