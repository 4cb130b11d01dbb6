"""The Karpenter NodeClaim that orders a node of a pool.

It belongs to no NodePool, so Karpenter launches it and leaves it alone until it is deleted.
"""

from collections.abc import Container, Iterator
from itertools import count
from typing import Any, Final

from plimsoll.acting.pods.manifest import DO_NOT_DISRUPT
from plimsoll.api.definition import API_VERSION
from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.parts.provisioning.node_claim_template import NodeClaimTemplate
from plimsoll.kube.http.resources import NODE_CLAIMS
from plimsoll.kube.objects.node_claim import CAPACITY_TYPES
from plimsoll.naming import shortened
from plimsoll.observe.nodes.pool_templates import future_labels, gpu_resource

_CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
_REQUIRED: Final = frozenset(
    {
        _CAPACITY_TYPE,
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
"""Labels that the provider sets by what it launches: they are required, not set."""
_LONGEST_POOL: Final = 50

Manifest = dict[str, Any]


def free_names(pool: GPUPool, taken: Container[str]) -> Iterator[str]:
    """The free names of orders: the same after a restart, so that none is made twice."""
    name = pool.metadata.name
    base = name if len(name) <= _LONGEST_POOL else shortened(name, _LONGEST_POOL)
    return (each for n in count(1) if (each := f"{base}-{n}") not in taken)


def node_claim(pool: GPUPool, template: NodeClaimTemplate, name: str) -> Manifest:
    """The NodeClaim by which a node of the pool is ordered."""
    labels = future_labels(pool)
    stated = [each.wire() for each in template.spec.requirements]
    return {
        "apiVersion": NODE_CLAIMS.api_version,
        "kind": "NodeClaim",
        "metadata": {
            "name": name,
            "labels": {key: value for key, value in labels.items() if key not in _REQUIRED},
            "annotations": {DO_NOT_DISRUPT: "true", **template.metadata.annotations},
            "ownerReferences": [owner_reference(pool)],
        },
        "spec": {
            "expireAfter": template.spec.expire_after,
            **template.spec.model_dump(mode="json", by_alias=True, exclude_defaults=True),
            "requirements": [*stated, *_added(pool, template)],
            "resources": {"requests": promised(pool)},
        },
    }


def promised(pool: GPUPool) -> dict[str, str]:
    """The GPUs of each node that is ordered, and the other resources that its pool says it has."""
    terms = pool.spec.provisioning
    others = {} if terms is None else terms.resources
    gpus = {gpu_resource(pool): str(pool.spec.gpus_per_node)}
    return gpus | {name: f"{amount:f}" for name, amount in sorted(others.items())}


def _added(pool: GPUPool, template: NodeClaimTemplate) -> Iterator[Manifest]:
    """What the pool requires beyond its template."""
    stated = {each.key for each in template.spec.requirements}
    required = {_CAPACITY_TYPE: CAPACITY_TYPES[pool.spec.capacity_type], **future_labels(pool)}
    for key, value in sorted(required.items()):
        if key in _REQUIRED and key not in stated:
            yield {"key": key, "operator": "In", "values": [value]}


def owner_reference(pool: GPUPool) -> Manifest:
    """What makes a pool the owner of what is ordered for it."""
    return {
        "apiVersion": API_VERSION,
        "kind": pool.kind,
        "name": pool.metadata.name,
        "uid": pool.metadata.uid,
        "controller": True,
    }
