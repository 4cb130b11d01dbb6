"""The ProvisioningRequest that orders several nodes of a pool, and the PodTemplate that it needs.

A request asks for room for pods, not for nodes. So its pods take all GPUs of a node, and none of
them fits on a node that is there: for each, cluster-autoscaler has to make one.
"""

import hashlib
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from plimsoll.acting.nodes.node_claims import owner_reference, promised
from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.parts.provisioning.node_claim_template import NodeTaint
from plimsoll.api.parts.provisioning.provisioning_request_template import (
    ProvisioningRequestTemplate,
)
from plimsoll.kube.http.resources import PROVISIONING_REQUESTS
from plimsoll.observe.snapshot import NodeView
from plimsoll.observe.views.pools import selects

_HOSTNAME: Final = "kubernetes.io/hostname"

Manifest = dict[str, Any]


def provisioning_request(
    pool: GPUPool, template: ProvisioningRequestTemplate, name: str, *, pods: Manifest, count: int
) -> Manifest:
    """The request for room for so many `pods`, each a node."""
    parameters = {"parameters": dict(template.parameters)} if template.parameters else {}
    return {
        "apiVersion": PROVISIONING_REQUESTS.api_version,
        "kind": "ProvisioningRequest",
        "metadata": {"name": name, "ownerReferences": [owner_reference(pool)]},
        "spec": {
            "provisioningClassName": template.class_name,
            **parameters,
            "podSets": [{"podTemplateRef": {"name": pods["metadata"]["name"]}, "count": count}],
        },
    }


def pod_template(
    pool: GPUPool, template: ProvisioningRequestTemplate, name: str, there: Iterable[NodeView]
) -> Manifest:
    """The pods of a request of that name; none of them fits on the nodes that are `there`.

    It is called by what it says, so one of the same name will do as well.
    """
    owners = [owner_reference(pool)]
    limits = promised(pool)
    if any(name.startswith("hugepages-") for name in limits):
        limits["cpu"] = "1m"  # the API server takes huge pages only beside CPU or memory
    spec: Manifest = {
        "nodeSelector": dict(sorted(pool.spec.node_selector.items())),
        "tolerations": [_toleration(taint) for taint in template.taints],
        "containers": [{"name": "node", "image": "none", "resources": {"limits": limits}}],
        **_nowhere_of(node for node in there if selects(pool.spec.node_selector, node)),
    }
    text = msgspec.json.encode((owners, spec), order="deterministic")
    digits = hashlib.sha256(text).hexdigest()[:10]
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": f"{name}-{digits}", "ownerReferences": owners},
        "template": {"spec": spec},
    }


def _toleration(taint: NodeTaint) -> Manifest:
    return {
        "key": taint.key,
        "operator": "Equal",
        "value": taint.value or "",
        "effect": taint.effect,
    }


def _nowhere_of(there: Iterable[NodeView]) -> Manifest:
    """The affinity that keeps pods off nodes."""
    names = sorted(node.labels.get(_HOSTNAME, node.name) for node in there)
    if not names:
        return {}
    others: Manifest = {"key": _HOSTNAME, "operator": "NotIn", "values": names}
    terms: Manifest = {"nodeSelectorTerms": [{"matchExpressions": [others]}]}
    required: Manifest = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return {"affinity": {"nodeAffinity": required}}
