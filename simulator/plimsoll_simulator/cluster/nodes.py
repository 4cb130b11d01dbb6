"""The twin's nodes: what they offer, and what happens to them."""

from collections.abc import Mapping

from plimsoll_simulator.cluster.api_server import ApiServer, Key
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.cluster.pods import gpus_in

SPOT_NOTICE = {"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule"}
"""What a node has that its cloud is about to take."""
GPU_TYPE = "nvidia.com/gpu.product"


def gpu_type_of(node: Raw) -> str:
    """The type of a node's GPUs, "" if it has none."""
    labels = node["metadata"].get("labels", {})
    return labels.get(GPU_TYPE) or labels.get("amd.com/gpu.product-name", "")


def gpus_of_node(node: Raw) -> int:
    """The GPUs that a node offers."""
    return gpus_in(node["status"]["allocatable"])


def gpu_node(
    name: str,
    gpu_type: str,
    gpus: int,
    labels: Mapping[str, str] | None = None,
) -> Raw:
    """A node that is up, with whole GPUs of a type, labelled as GPU Feature Discovery does."""
    offered = {"cpu": "192", "memory": "2Ti", "pods": "110", "nvidia.com/gpu": str(gpus)}
    known = {
        "kubernetes.io/hostname": name,
        "nvidia.com/gpu.present": "true",
        GPU_TYPE: gpu_type,
        "nvidia.com/gpu.count": str(gpus),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**known, **(labels or {})}},
        "spec": {},
        "status": {
            "capacity": offered,
            "allocatable": offered,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def give_notice(api: ApiServer, name: str) -> None:
    """Have a node say that it will soon go."""

    def tainted(node: Raw) -> Raw:
        spec = node.get("spec", {})
        return {**node, "spec": {**spec, "taints": [*spec.get("taints", ()), SPOT_NOTICE]}}

    api.update(Key("nodes", "", name), tainted)
