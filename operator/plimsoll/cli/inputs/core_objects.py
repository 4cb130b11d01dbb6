"""Decode manifests of Kubernetes' own kinds into the objects that plans depend on.

Unlike objects from a watch, these may be written by hand and not yet validated by an API server.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from plimsoll.api.refusal_text import Path, field_path
from plimsoll.api.values.quantities import millis
from plimsoll.cli.inputs.manifests import Manifest
from plimsoll.errors import InvalidQuantity
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import (
    KubeObject,
    Namespace,
    Node,
    PersistentVolume,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
)
from plimsoll.kube.watching.workloads import Workload
from plimsoll.observe.adoption.kinds.table import adapter_of_kind, is_maker
from plimsoll.observe.labels import GATE, QUEUE

_KINDS: Mapping[tuple[str, str], type[KubeObject]] = {
    ("v1", "Namespace"): Namespace,
    ("v1", "Node"): Node,
    ("v1", "PersistentVolume"): PersistentVolume,
    ("v1", "Pod"): Pod,
    ("karpenter.sh/v1", "NodeClaim"): NodeClaim,
    ("scheduling.k8s.io/v1", "PriorityClass"): PriorityClass,
    ("policy/v1", "PodDisruptionBudget"): PodDisruptionBudget,
    ("apps/v1", "Deployment"): Workload,
    ("apps/v1", "StatefulSet"): Workload,
}
_EVERYWHERE = frozenset({"Namespace", "Node", "NodeClaim", "PersistentVolume", "PriorityClass"})
_TEMPLATES = frozenset({"template", "leaderWorkerTemplate"})

_AMOUNTS = frozenset({"requests", "limits", "overhead", "capacity", "allocatable"})
_USUAL_POD_SLOTS = 110
"""The kubelet's default; manifests written by hand tend to omit it."""


def core_kind(manifest: Manifest) -> type[KubeObject] | None:
    """The kind, if plans depend on it."""
    known = _KINDS.get((manifest.api_version, manifest.kind))
    adapter = adapter_of_kind(manifest.api_version, manifest.kind)
    if adapter is not None:
        return adapter.type if _is_of_concern(manifest.raw) else None
    return Workload if known is None and _can_be_targeted(manifest.raw) else known


def is_namespaced(kind: str) -> bool:
    """Whether objects of a Kubernetes kind are namespaced."""
    return kind not in _EVERYWHERE


def _is_of_concern(raw: Mapping[str, Any]) -> bool:
    """Whether a workload asks to be planned, did so before, or may have been made by one that does.

    The rest of it may be wrong.
    """
    meta = _part(raw, "metadata")
    owners = meta.get("ownerReferences")
    is_made = isinstance(owners, list) and any(map(_makes_workloads, cast("list[Any]", owners)))
    return bool(_part(meta, "labels").get(QUEUE)) or is_made or _is_gated(raw.get("spec"))


def _makes_workloads(owner: Any) -> bool:  # noqa: ANN401 - any JSON
    if not isinstance(owner, dict):
        return False
    of = cast("dict[str, Any]", owner)
    return is_maker(str(of.get("apiVersion", "")), str(of.get("kind", "")))


def _is_gated(spec: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether our scheduling gate is in any pod template of a spec."""
    if isinstance(spec, list):
        return any(map(_is_gated, cast("list[Any]", spec)))
    if not isinstance(spec, dict):
        return False
    fields = cast("dict[str, Any]", spec)
    gates = fields.get("schedulingGates")
    if isinstance(gates, list) and {"name": GATE} in gates:
        return True
    return any(map(_is_gated, fields.values()))


def _can_be_targeted(raw: Mapping[str, Any]) -> bool:
    """Whether it has a replica count, a template and a selector in its status."""
    spec, status = _part(raw, "spec"), _part(raw, "status")
    return "replicas" in spec and "selector" in status and not _TEMPLATES.isdisjoint(spec)


def _part(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = raw.get(name)
    return cast("Mapping[str, Any]", part) if isinstance(part, dict) else {}


def core_object(kind: type[KubeObject], raw: Mapping[str, Any]) -> KubeObject:
    """The object. Raises msgspec.ValidationError or InvalidQuantity, which name the field."""
    decoded = msgspec.convert(_exact(raw), kind)
    for path, quantity in _amounts(msgspec.to_builtins(decoded), ()):
        try:
            millis(quantity)
        except InvalidQuantity as error:
            raise InvalidQuantity(f"{field_path(path)}: {error}") from error
    return _with_pod_slots(decoded) if isinstance(decoded, Node) else decoded


def _exact(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The value with fractional numbers as text: Kubernetes takes `cpu: 0.5` as "0.5"."""
    if isinstance(value, list):
        return [_exact(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: _exact(inner) for name, inner in cast("dict[str, Any]", value).items()}
    return str(value) if isinstance(value, float) else value


def _amounts(value: Any, path: Path) -> Iterator[tuple[Path, str | int]]:  # noqa: ANN401 - any JSON
    """The quantities in a value, each with its path."""
    if isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            yield from _amounts(item, (*path, index))
    elif isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if path and path[-1] in _AMOUNTS:
            yield from (((*path, name), quantity) for name, quantity in fields.items())
            return
        for name, inner in fields.items():
            yield from _amounts(inner, (*path, name))


def _with_pod_slots(node: Node) -> Node:
    status = node.status
    offered = {"pods": _USUAL_POD_SLOTS, **(status.allocatable or status.capacity)}
    status = msgspec.structs.replace(status, allocatable=offered)
    return msgspec.structs.replace(node, status=status)
