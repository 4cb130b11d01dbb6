"""GPUPools that may buy nodes, the NodeClaims by which they did, and the nodes that came."""

from typing import Any

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from support.objects.job_manifests import a_pool

NODE_CLASS = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
LABEL = "example.com/pool"
ORDERED = "2026-11-21T11:58:00Z"


def a_growing_pool(  # noqa: PLR0913 - a builder: a test names only what it is about
    name: str = "h100",
    *,
    most: int = 4,
    gpus: int = 8,
    gpu_type: str = H100,
    price: str = "2",
    sells: bool = True,
    provisioning: Manifest | None = None,
    **spec: Any,  # noqa: ANN401 - fields of a GPUPool's spec
) -> Manifest:
    """A pool of nodes that can be bought; those that are there have its label."""
    claim = {"spec": {"nodeClassRef": NODE_CLASS}}
    terms: Manifest = {"max": most, **({"nodeClaim": claim} if sells else {})}
    return a_pool(
        name,
        {LABEL: name},
        gpuType=gpu_type,
        gpusPerNode=gpus,
        pricePerGPUHour=price,
        provisioning=terms | (provisioning or {}),
        **spec,
    )


def a_typed_pool(
    name: str,
    instance_type: str,
    *,
    zone: str = "",
    region: str = "",
    price: str = "0",
    **spec: Any,  # noqa: ANN401 - fields of a GPUPool's spec
) -> Manifest:
    """A growing pool whose template names an instance type, and perhaps where."""
    named = {
        "node.kubernetes.io/instance-type": instance_type,
        "topology.kubernetes.io/zone": zone,
        "topology.kubernetes.io/region": region,
    }
    requirements = [
        {"key": key, "operator": "In", "values": [value]} for key, value in named.items() if value
    ]
    template = {"spec": {"nodeClassRef": NODE_CLASS, "requirements": requirements}}
    return a_growing_pool(name, price=price, provisioning={"nodeClaim": template}, **spec)


def a_node_of(pool: str, name: str, **rest: Any) -> Manifest:  # noqa: ANN401 - what it has
    """A node of a pool."""
    labels: dict[str, str] = rest.pop("labels", {LABEL: pool})
    return fake_node(name, labels=labels, **rest)


def a_claim(
    name: str,
    pool: str = "h100",
    node: str = "",
    *,
    arrived: bool = False,
    **metadata: Any,  # noqa: ANN401 - what of it matters
) -> Manifest:
    """A node that was ordered for a pool; it has registered if it is named."""
    owner = {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "GPUPool",
        "name": pool,
        "uid": f"uid-GPUPool-{pool}",
        "controller": True,
    }
    conditions = [{"type": "Initialized", "status": "True"}] if arrived else []
    meta: Manifest = {"creationTimestamp": ORDERED, "ownerReferences": [owner], **metadata}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": name, **meta},
        "status": {"nodeName": node, "conditions": conditions},
    }
