"""What a test asks Karpenter for: claims of single nodes, pools of them, and how they come up."""

from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll_devcluster.fake_nodes import CAPACITY_TYPE, ZONE, gpu_labels
from plimsoll_devcluster.karpenter.instance_types import (
    EIGHT_H100,
    ON_DEMAND,
    InstanceType,
    requirement,
)
from plimsoll_devcluster.manifest import Manifest

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
NODE_CLASS = "test"


def a_node_class(name: str = NODE_CLASS, *, boot_seconds: int = 0) -> Manifest:
    """How nodes come up: so long after their launch."""
    return {
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": "KWOKNodeClass",
        "metadata": {"name": name},
        "spec": {"nodeRegistrationDelay": f"{boot_seconds}s"},
    }


def a_node_claim(  # noqa: PLR0913 - a builder: a test names only what it is about
    name: str = "claim",
    instance_type: InstanceType = EIGHT_H100,
    *,
    zones: Sequence[str] = ("zone-a",),
    capacity_types: Sequence[str] = (ON_DEMAND,),
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    node_class: str = NODE_CLASS,
) -> Manifest:
    """A claim of one node that belongs to no pool, with the labels that its node shall have."""
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {
            "name": name,
            "labels": {**gpu_labels_of(instance_type), **(labels or {})},
            "annotations": dict(annotations or {}),
        },
        "spec": {
            "requirements": _requirements(instance_type, zones, capacity_types),
            "resources": {"requests": {"nvidia.com/gpu": str(instance_type.gpus)}},
            "nodeClassRef": _reference(node_class),
            "expireAfter": "Never",
        },
    }


def a_node_pool(name: str, instance_type: InstanceType, **disruption: Any) -> Manifest:  # noqa: ANN401 - fields
    """A pool from which Karpenter itself makes nodes for pods that ask for its label."""
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "template": {
                "spec": {
                    "requirements": _requirements(instance_type, ("zone-a",), (ON_DEMAND,)),
                    "nodeClassRef": _reference(NODE_CLASS),
                }
            },
            "disruption": disruption,
        },
    }


def gpu_labels_of(instance_type: InstanceType) -> dict[str, str]:
    """What GPU Feature Discovery would say of such a node."""
    labels = gpu_labels(instance_type.gpu_type, instance_type.gpus)
    return labels | {INSTANCE_TYPE: instance_type.name}


def _requirements(
    instance_type: InstanceType, zones: Sequence[str], capacity_types: Sequence[str]
) -> list[Manifest]:
    return [
        requirement(INSTANCE_TYPE, instance_type.name),
        requirement(ZONE, *zones),
        requirement(CAPACITY_TYPE, *capacity_types),
    ]


def _reference(node_class: str) -> Manifest:
    return {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": node_class}
