"""Reduce objects to what plans depend on before they are written, and drop anything private.

No environment, command, argument, image, log line or query, of volumes only the names of claims,
and no annotation except the GPU power cap of a node and what a Job says to be planned by: a pod
template keeps only its requests and placement constraints.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeVar, cast

import msgspec

from plimsoll.api.kinds import Job
from plimsoll.api.resource import Resource
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import (
    Labels,
    Namespace,
    Node,
    ObjectMeta,
    PersistentVolume,
    Pod,
)
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.kube.watching.workloads import Workload
from plimsoll.observe.adoption.annotations import PLANNED
from plimsoll.observe.adoption.kinds.job_sets import OF_JOBS
from plimsoll.observe.kueue import is_mark
from plimsoll.observe.labels import SETTINGS, TEMPLATE_HASH
from plimsoll.observe.nodes.power_limits import CAP
from plimsoll.observe.targets.kserve import AUTOSCALER
from plimsoll.observe.views.ownership import is_own

Raw = dict[str, Any]
M = TypeVar("M", bound=ObjectMeta)
_LEFT_OUT: Final = "left-out"
_LOCATION: Final = "location"
_EXACT: Final = frozenset({"requests", "limits", "overhead", "nodeSelector"})
"""Maps from names that users choose: no field is meant by "message" there."""
_OF_META: Final = (
    "name",
    "namespace",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
)
_OF_POD_SPEC: Final = (
    "nodeSelector",
    "tolerations",
    "overhead",
    "readinessGates",
    "resources",
    "schedulerName",
    "terminationGracePeriodSeconds",
)
_OF_CONTAINER: Final = ("name", "resources", "restartPolicy")
_CLAIM: Final = "persistentVolumeClaim"
_OF_NODE_CLAIM: Final = ("requirements", "taints")
_LEARNED: Final = {
    "GPUPool": ("spot", "power", "provisioning"),
    "PowerDomain": ("deviation", "reducedWatts"),
    "PlacementPolicy": ("energy",),
}
"""The status fields of other kinds that plans depend on."""
_MESSAGE_KEPT: Final = "Admitted"
"""The condition whose message is used in planning: it says why a job's pods were refused."""


def pod_without(pod: Pod, current: AbstractSet[str]) -> Pod:
    """A pod without its containers' contents.

    Only if it has an old template, it keeps its hash: the job's template is not what it was.
    `current` are the hashes of pods whose templates are not old.
    """
    conditions = tuple(msgspec.structs.replace(c, message="") for c in pod.status.conditions)
    status = msgspec.structs.replace(
        pod.status,
        message="",
        conditions=conditions,
        container_statuses=(),
        init_container_statuses=(),
    )
    kept = tuple(each for each in pod.metadata.owner_references if each.controller or is_own(each))
    labels = pod.metadata.labels
    if labels.get(TEMPLATE_HASH) in current:
        labels = {name: value for name, value in labels.items() if name != TEMPLATE_HASH}
    metadata = msgspec.structs.replace(_meta(pod.metadata), owner_references=kept, labels=labels)
    return msgspec.structs.replace(pod, metadata=metadata, status=status)


def node_without(node: Node) -> Node:
    """A node without what identifies it at its provider."""
    spec = msgspec.structs.replace(node.spec, provider_id="")
    notes = {name: value for name, value in node.metadata.annotations.items() if name == CAP}
    metadata = msgspec.structs.replace(_meta(node.metadata), annotations=notes)
    return msgspec.structs.replace(node, metadata=metadata, spec=spec)


def target_without(target: Workload) -> Workload:
    """A target without annotations, but for who scales it."""
    notes = {k: v for k, v in target.metadata.annotations.items() if k == AUTOSCALER}
    metadata = msgspec.structs.replace(target.metadata, annotations=notes)
    return msgspec.structs.replace(target, metadata=metadata)


def namespace_without(namespace: Namespace) -> Namespace:
    """A namespace: its name and its labels."""
    return msgspec.structs.replace(namespace, metadata=_meta(namespace.metadata))


def volume_without(volume: PersistentVolume) -> PersistentVolume:
    """A volume: whose it is, and where it can be reached."""
    return msgspec.structs.replace(volume, metadata=_meta(volume.metadata))


def node_claim_without(claim: NodeClaim) -> NodeClaim:
    """A NodeClaim: whose it is, and how far it has come."""
    kept = tuple(each for each in claim.metadata.owner_references if each.controller)
    metadata = msgspec.structs.replace(_meta(claim.metadata), owner_references=kept)
    conditions = tuple(msgspec.structs.replace(c, message="") for c in claim.status.conditions)
    status = msgspec.structs.replace(claim.status, conditions=conditions)
    return msgspec.structs.replace(claim, metadata=metadata, status=status)


def workload_without(item: WorkloadObject) -> WorkloadObject:
    """A workload without what its pods are and what its controller says of them."""
    metadata = msgspec.structs.replace(
        item.metadata,
        resource_version="",
        labels=_marks(item.metadata.labels),
        annotations={k: v for k, v in item.metadata.annotations.items() if _is_planned(k, v)},
    )
    raw = msgspec.to_builtins(item)
    stripped = {name: _inner_without(part) for name, part in raw.items() if name != "metadata"}
    found = msgspec.convert(stripped, type(item))
    return msgspec.structs.replace(found, metadata=metadata)


def _inner_without(part: Any) -> Any:  # noqa: ANN401 - any JSON
    """What is inside of a workload: of templates' metadata the marks, of conditions no message."""
    if isinstance(part, list | tuple):
        return [_inner_without(each) for each in cast("Sequence[Any]", part)]
    if not isinstance(part, dict):
        return part
    fields = cast("Raw", part)
    kept = {
        name: value if name in _EXACT else _inner_without(value)
        for name, value in fields.items()
        if name not in ("metadata", "message")
    }
    if "volumes" in kept:
        kept["volumes"] = _claimed(kept["volumes"])
    if "metadata" in fields:
        kept["metadata"] = {"labels": _marks(fields["metadata"].get("labels", {}))}
    return kept


def _marks(labels: Labels) -> Labels:
    """The labels by which a workload asks to be planned, or is another's."""
    return {k: v for k, v in labels.items() if k.startswith(SETTINGS) or k in OF_JOBS or is_mark(k)}


def _is_planned(annotation: str, value: str) -> bool:
    """Whether an annotation says how to plan, and not where checkpoints are."""
    field = annotation.removeprefix(SETTINGS)
    says_where = _LOCATION in field or _LOCATION in value
    return field != annotation and field.partition(".")[0] in PLANNED and not says_where


def _meta(meta: M) -> M:
    return msgspec.structs.replace(meta, owner_references=(), resource_version="")


def resource_without(resource: Resource) -> Raw:
    """A custom resource as a manifest, with the status fields that plans depend on."""
    wire: Raw = resource.wire()
    manifest: Raw = {
        "apiVersion": wire["apiVersion"],
        "kind": wire["kind"],
        "metadata": {name: wire["metadata"][name] for name in _OF_META if name in wire["metadata"]},
        "spec": _spec(wire["spec"]),
    }
    if isinstance(resource, Job):
        manifest["status"] = _status(wire["status"])
    kept = _LEARNED.get(wire["kind"], ())
    learned = {name: wire["status"][name] for name in kept if name in wire.get("status", {})}
    return {**manifest, "status": learned} if learned else manifest


def _spec(spec: Mapping[str, Any]) -> Raw:
    private = ("load", "measuredPowerQuery")
    kept = {name: value for name, value in spec.items() if name not in private}
    if "nodeClaim" in kept.get("provisioning", {}):
        kept["provisioning"] = _with_node_claim(kept["provisioning"])
    if "checkpoint" in kept:
        kept["checkpoint"] = {k: v for k, v in kept["checkpoint"].items() if k != _LOCATION}
    if "energySignal" in kept.get("objective", {}):
        signal = {**kept["objective"]["energySignal"], "query": _LEFT_OUT}
        kept["objective"] = {**kept["objective"], "energySignal": signal}
    if "workers" in kept:
        kept["workers"] = _with_template(kept["workers"])
    if "roles" in kept:
        kept["roles"] = [_with_template(role) for role in kept["roles"]]
    return kept


def _with_node_claim(terms: Mapping[str, Any]) -> Raw:
    """The terms on which nodes are bought, and of their template what they will be like."""
    template: Raw = terms["nodeClaim"]
    spec = {name: template["spec"][name] for name in _OF_NODE_CLAIM if name in template["spec"]}
    spec["nodeClassRef"] = {**template["spec"]["nodeClassRef"], "name": _LEFT_OUT}
    labels = {"labels": template.get("metadata", {}).get("labels", {})}
    return {**terms, "nodeClaim": {"metadata": labels, "spec": spec}}


def _with_template(part: Mapping[str, Any]) -> Raw:
    spec: Raw = part["template"]["spec"]
    kept = {name: spec[name] for name in _OF_POD_SPEC if name in spec}
    for name in ("containers", "initContainers"):
        kept[name] = [_container(each) for each in spec.get(name, ())]
    node_affinity = cast("Raw", spec.get("affinity", {})).get("nodeAffinity")
    if node_affinity:
        kept["affinity"] = {"nodeAffinity": node_affinity}
    claimed = _claimed(spec.get("volumes", ()))
    if claimed:
        kept["volumes"] = claimed
    return {**part, "template": {"spec": kept}}


def _claimed(volumes: Iterable[Raw]) -> list[Raw]:
    """Of volumes those that are had by claims, and of these nothing else."""
    return [{name: each[name] for name in ("name", _CLAIM)} for each in volumes if each.get(_CLAIM)]


def _container(container: Mapping[str, Any]) -> Raw:
    return {
        "image": _LEFT_OUT,
        **{name: container[name] for name in _OF_CONTAINER if name in container},
    }


def _status(status: Mapping[str, Any]) -> Raw:
    kept = {name: value for name, value in status.items() if name != "message"}
    if "conditions" in kept:
        kept["conditions"] = [
            each if each["type"] == _MESSAGE_KEPT else {**each, "message": ""}
            for each in kept["conditions"]
        ]
    return kept
