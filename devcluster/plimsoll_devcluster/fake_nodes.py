"""KWOK nodes that carry GPUs, labelled like real ones."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.gpu_models import A100, H100, L4, MODELS, T4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import POLL_SECONDS, wait_for_count

NODES = "/api/v1/nodes"
RACK = "plimsoll.dev/rack"
ZONE = "topology.kubernetes.io/zone"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
READY_SECONDS = 60
NODES_LISTED_PER_SECOND = 2000


def fake_node(  # noqa: PLR0913 - a builder: a test names only what it is about
    name: str,
    gpu_type: str = H100,
    gpus: int = 8,
    *,
    replicas: int = 1,
    cpu: str = "192",
    memory: str = "2Ti",
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    resources: Mapping[str, str] | None = None,
) -> Manifest:
    """Return a node with `gpus` whole GPUs, or each time-sliced among `replicas`.

    Other devices (MIG profiles, AMD's GPUs) are given by `resources`, with gpus=0.
    """
    offered = {"cpu": cpu, "memory": memory, "pods": "110", "ephemeral-storage": "1Ti"}
    if gpus:
        offered["nvidia.com/gpu"] = str(gpus * replicas)
    offered.update(resources or {})
    own_labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "type": "kwok",
        ZONE: "zone-a",
        CAPACITY_TYPE: "on-demand",
        **(gpu_labels(gpu_type, gpus, replicas=replicas) if gpus else {}),
        **(labels or {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": own_labels,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "spec": {"taints": [dict(taint) for taint in taints]},
        "status": {"capacity": offered, "allocatable": offered},
    }


def gpu_labels(gpu_type: str, gpus: int, *, replicas: int = 1) -> dict[str, str]:
    """Return the labels that GPU Feature Discovery gives a node with these GPUs."""
    model = MODELS[gpu_type]
    major, minor = model.compute.split(".")
    shared = replicas > 1
    return {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": f"{gpu_type}-SHARED" if shared else gpu_type,
        "nvidia.com/gpu.count": str(gpus),
        "nvidia.com/gpu.replicas": str(replicas),
        "nvidia.com/gpu.sharing-strategy": "time-slicing" if shared else "none",
        "nvidia.com/gpu.memory": str(model.memory_mib),
        "nvidia.com/gpu.family": model.family,
        "nvidia.com/gpu.compute.major": major,
        "nvidia.com/gpu.compute.minor": minor,
        "nvidia.com/mig.capable": str(model.mig_capable).lower(),
        "node.kubernetes.io/instance-type": model.machine,
    }


def demo_nodes() -> list[Manifest]:
    """Return twenty varied nodes, 108 GPUs, each kind spread over two racks."""
    return [
        *_spread("h100", H100, 8, nodes=4),
        *_spread("a100", A100, 8, nodes=6),
        *_spread("l4", L4, 4, nodes=6, capacity_type="spot"),
        *_spread("t4", T4, 1, nodes=4),
    ]


def add_nodes(
    api: ApiServer, nodes: Iterable[Manifest], report: Callable[[str], object] = lambda _: None
) -> None:
    """Create nodes, many at a time, and wait until KWOK has made all of them ready.

    `report` is called with the number that are.
    """
    wanted = list(nodes)
    api.create_all(NODES, wanted)
    names = {node["metadata"]["name"] for node in wanted}
    wait_for_count(
        lambda: len(names & ready_nodes(api)),
        len(names),
        patience_seconds=READY_SECONDS,
        # Listing thousands of nodes keeps the API server from processing their updates.
        poll_seconds=max(POLL_SECONDS, len(names) / NODES_LISTED_PER_SECOND),
        what="nodes are ready",
        report=report,
    )


def ready_nodes(api: ApiServer) -> set[str]:
    """Return the names of the nodes that are ready and free of the taint of new ones."""
    # From the API server's cache: listing ten thousand nodes must not burden etcd.
    nodes = api.items(f"{NODES}?resourceVersion=0")
    return {node["metadata"]["name"] for node in nodes if _is_ready(node)}


def _is_ready(node: Manifest) -> bool:
    taints = {taint["key"] for taint in node["spec"].get("taints", [])}
    conditions = node["status"].get("conditions", [])
    said = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return said and "node.kubernetes.io/not-ready" not in taints


def _spread(
    prefix: str, gpu_type: str, gpus: int, *, nodes: int, capacity_type: str = "on-demand"
) -> list[Manifest]:
    return [
        fake_node(
            f"{prefix}-{index}",
            gpu_type,
            gpus,
            cpu=str(gpus * 24),
            memory=f"{gpus * 128}Gi",
            labels={RACK: ("rack-a", "rack-b")[index % 2], CAPACITY_TYPE: capacity_type},
        )
        for index in range(nodes)
    ]
