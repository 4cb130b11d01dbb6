"""GPUPools that may buy nodes, the orders by which they did, and the nodes that came."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from plimsoll.kube.objects.times import rfc3339
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


def a_node_of(
    pool: str,
    name: str,
    *,
    came: str | None = None,
    **rest: Any,  # noqa: ANN401 - what it has
) -> Manifest:
    """A node of a pool, which is there since it `came`."""
    labels: dict[str, str] = rest.pop("labels", {LABEL: pool})
    node = fake_node(name, labels=labels, **rest)
    node["metadata"] |= {"creationTimestamp": came} if came else {}
    return node


def a_claim(
    name: str,
    pool: str = "h100",
    node: str = "",
    *,
    arrived: bool = False,
    last_pod_event: datetime | None = None,
    **metadata: Any,  # noqa: ANN401 - what of it matters
) -> Manifest:
    """A node that was ordered for a pool; it has registered if it is named."""
    conditions = [{"type": "Initialized", "status": "True"}] if arrived else []
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": name, **_ordered_for(pool), **metadata},
        "status": {
            "nodeName": node,
            "conditions": conditions,
            **({"lastPodEventTime": rfc3339(last_pod_event)} if last_pod_event else {}),
        },
    }


def an_autoscaled_pool(
    name: str = "h100",
    *,
    most: int = 8,
    request: Manifest | None = None,
    **rest: Any,  # noqa: ANN401 - as above
) -> Manifest:
    """A pool whose nodes cluster-autoscaler makes."""
    terms = {"provisioningRequest": request or {}, **rest.pop("provisioning", {})}
    return a_growing_pool(name, most=most, sells=False, provisioning=terms, **rest)


def a_request(
    name: str,
    pool: str = "h100",
    count: int = 2,
    conditions: Sequence[Manifest] = (),
    **metadata: Any,  # noqa: ANN401 - what of it matters
) -> Manifest:
    """Nodes that were ordered together for a pool."""
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": name, **_ordered_for(pool), **metadata},
        "spec": {"podSets": [{"podTemplateRef": {"name": name}, "count": count}]},
        "status": {"conditions": [*conditions]},
    }


def said(kind: str, status: str = "True", reason: str = "", at: str = ORDERED) -> Manifest:
    """A condition of a request."""
    text = f"{kind} is {status}"
    return {
        "type": kind,
        "status": status,
        "reason": reason or kind,
        "message": text,
        "lastTransitionTime": at,
    }


def _ordered_for(pool: str) -> Manifest:
    owner = {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "GPUPool",
        "name": pool,
        "uid": f"uid-GPUPool-{pool}",
        "controller": True,
    }
    return {"creationTimestamp": ORDERED, "ownerReferences": [owner]}
