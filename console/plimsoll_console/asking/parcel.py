"""All objects of a cluster as they are sent to another process.

Kubernetes objects travel as the JSON that they came as, which is much faster to write and to read
than pickled ones.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from plimsoll.api.resource import Resource
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import (
    KubeObject,
    Namespace,
    Node,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
)
from plimsoll.kube.objects.provisioning_request import ProvisioningRequest
from plimsoll.kube.watching.workloads import Reading
from plimsoll.observe.adoption.kinds.table import ADAPTERS
from plimsoll.observe.observer import Objects
from plimsoll.observe.refused import RefusedObject

_KINDS: Final[Mapping[str, type[KubeObject]]] = {
    "nodes": Node,
    "pods": Pod,
    "priority_classes": PriorityClass,
    "budgets": PodDisruptionBudget,
    "namespaces": Namespace,
    "node_claims": NodeClaim,
    "provisioning_requests": ProvisioningRequest,
}
_WORKLOADS: Final = {each.type.__name__: each.type for each in ADAPTERS}
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Parcel:
    """The objects of a cluster, wrapped. Kinds that are not watched are absent."""

    kinds: Mapping[str, bytes]
    workloads: Mapping[str, bytes]
    resources: tuple[Resource, ...]
    refused: tuple[RefusedObject, ...]
    targets: tuple[Reading, ...] = field(default=())


def wrapped(objects: Objects) -> Parcel:
    """The objects as a parcel; what is measured and reported is left out."""
    given = ((name, getattr(objects, name)) for name in _KINDS)
    workloads = [*objects.workloads]
    return Parcel(
        kinds={name: _encode([*items]) for name, items in given if items is not None},
        workloads={
            name: _encode([each for each in workloads if type(each) is kind])
            for name, kind in _WORKLOADS.items()
        },
        resources=tuple(objects.resources),
        refused=tuple(objects.refused),
        targets=tuple(objects.targets),
    )


def opened(parcel: Parcel, resources: Iterable[Resource] | None = None) -> Objects:
    """The objects of a parcel, with other custom resources if these are given."""
    found: dict[str, Any] = {
        name: tuple(msgspec.json.decode(body, type=list[_KINDS[name]]))
        for name, body in parcel.kinds.items()
    }
    workloads = tuple(
        item
        for name, body in parcel.workloads.items()
        for item in msgspec.json.decode(body, type=list[_WORKLOADS[name]])
    )
    return Objects(
        **found,
        workloads=workloads,
        resources=parcel.resources if resources is None else tuple(resources),
        refused=parcel.refused,
        targets=parcel.targets,
    )
