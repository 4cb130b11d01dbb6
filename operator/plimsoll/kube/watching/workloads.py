"""Another controller's workload, seen from outside: its `/scale` and its pod template.

Any kind with a `/scale` will do. The template is looked up where Deployments, StatefulSets and the
like have it, and where LeaderWorkerSets do.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import msgspec

from plimsoll.api.parts.roles import MAX_PODS_PER_REPLICA
from plimsoll.kube.http.resources import FIELD_MANAGER
from plimsoll.kube.objects.objects import (
    KubeObject,
    Labels,
    LabelSelector,
    LabelSelectorRequirement,
    ObjectMeta,
    PodSpec,
    Wire,
)

_NOTHING: Mapping[str, Any] = {}
_VERSION_DIGITS = 20
_LONGEST_PROBLEM = 1000

ReplicaCount = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
GroupSize = Annotated[int, msgspec.Meta(ge=1, le=MAX_PODS_PER_REPLICA)]
"""Bounded on reading: the cost of planning a replica grows with it."""


class ScaleSpec(Wire, frozen=True):
    """How many replicas a workload should have."""

    replicas: ReplicaCount = 0


class ScaleStatus(Wire, frozen=True):
    """How many it has, and the label selector of its pods as text."""

    replicas: int = 0
    selector: str = ""


class Scale(KubeObject, frozen=True):
    """A workload's `/scale`; its version is the workload's."""

    spec: ScaleSpec = ScaleSpec()
    status: ScaleStatus = ScaleStatus()


class ManagedFields(Wire, frozen=True):
    """Who wrote which fields last."""

    manager: str = ""
    fields_v1: Mapping[str, Any] = _NOTHING


class WorkloadMeta(ObjectMeta, frozen=True):
    """Metadata that shows who set the count, and who else may."""

    annotations: Labels = _NOTHING
    managed_fields: tuple[ManagedFields, ...] = ()


class PodTemplateSpec(Wire, frozen=True):
    """A template of pods."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class LeaderWorkerTemplate(Wire, frozen=True):
    """The templates of a LeaderWorkerSet's groups of `size` pods; a leader is a worker too."""

    worker_template: PodTemplateSpec = PodTemplateSpec()
    leader_template: PodTemplateSpec | None = None
    size: GroupSize = 1


class WorkloadSpec(Wire, frozen=True):
    """A workload has one of the two templates. Its `/scale` takes precedence over these fields."""

    template: PodTemplateSpec | None = None
    leader_worker_template: LeaderWorkerTemplate | None = None
    replicas: int = 1
    selector: LabelSelector | None = None


class WorkloadStatus(Wire, frozen=True):
    """The selector of its pods as text, if it states one."""

    selector: str = ""


class Workload(KubeObject, frozen=True):
    """A Deployment, a StatefulSet, a LeaderWorkerSet, or anything alike."""

    metadata: WorkloadMeta = WorkloadMeta()
    api_version: str = ""
    kind: str = ""
    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()

    @property
    def templates(self) -> tuple[PodTemplateSpec, ...]:
        """The templates of a replica's pods, by rank; none if they are not found."""
        if self.spec.template is not None:
            return (self.spec.template,)
        group = self.spec.leader_worker_template
        if group is None:
            return ()
        leader = group.leader_template or group.worker_template
        return (leader, *(group.worker_template for _ in range(group.size - 1)))

    @property
    def pod_specs(self) -> tuple[PodSpec, ...]:
        """The specs of a replica's pods, by rank; none if they are not found."""
        return tuple(template.spec for template in self.templates)

    @property
    def manager(self) -> str:
        """Who set `spec.replicas` last; "" if unknown."""
        wrote = (w for w in self.metadata.managed_fields if _is_of_count(w.fields_v1))
        return next((writer.manager for writer in wrote), "")


def _is_of_count(fields: Mapping[str, Any]) -> bool:
    of_spec = fields.get("f:spec")
    return isinstance(of_spec, Mapping) and "f:replicas" in of_spec


class Reference(NamedTuple):
    """Identifies a workload."""

    namespace: str
    api_version: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Reading:
    """A workload as last read; `problem` says why it cannot be read, and what to do."""

    reference: Reference
    scale: Scale = field(default_factory=Scale)
    workload: Workload = field(default_factory=Workload)
    problem: str = ""

    @property
    def version(self) -> int:
        """The version of the workload; 0 if its server does not count versions."""
        text = self.scale.metadata.resource_version
        counts = text.isascii() and text.isdecimal() and len(text) <= _VERSION_DIGITS
        return int(text) if counts else 0


def unread(reference: Reference, problem: str) -> Reading:
    """A workload that cannot be read, and why; the reason may contain long messages of others."""
    clipped = problem if len(problem) <= _LONGEST_PROBLEM else f"{problem[:_LONGEST_PROBLEM]} ..."
    return Reading(reference, problem=clipped)


def with_scale(before: Reading, scale: Scale) -> Reading:
    """The reading after we set the count: the response has everything but the manager."""
    ours = ManagedFields(FIELD_MANAGER, {"f:spec": {"f:replicas": {}}})
    meta = msgspec.structs.replace(before.workload.metadata, managed_fields=(ours,))
    workload = msgspec.structs.replace(before.workload, metadata=meta)
    return Reading(before.reference, scale, workload)


def reading_of(workload: Workload) -> Reading:
    """The reading of a workload's manifest, as if the workload had been read."""
    meta, spec = workload.metadata, workload.spec
    reference = Reference(meta.namespace, workload.api_version, workload.kind, meta.name)
    selector = workload.status.selector or _text(spec.selector or LabelSelector())
    scale = Scale(spec=ScaleSpec(spec.replicas), status=ScaleStatus(selector=selector))
    return Reading(reference, scale, workload)


def manifest_of(reading: Reading) -> Workload:
    """A manifest from which the workload can be read again: who it is, whose, and what it says."""
    reference, scale = reading.reference, reading.scale
    whole = reading.workload
    return Workload(
        metadata=WorkloadMeta(
            name=reference.name,
            namespace=reference.namespace,
            uid=whole.metadata.uid,
            labels=whole.metadata.labels,
            annotations=whole.metadata.annotations,
            owner_references=tuple(o for o in whole.metadata.owner_references if o.controller),
        ),
        api_version=reference.api_version,
        kind=reference.kind,
        spec=msgspec.structs.replace(whole.spec, replicas=scale.spec.replicas),
        status=WorkloadStatus(scale.status.selector),
    )


def _text(selector: LabelSelector) -> str:
    labels = (f"{key}={value}" for key, value in selector.match_labels.items())
    return ",".join((*labels, *map(_part, selector.match_expressions)))


def _part(requirement: LabelSelectorRequirement) -> str:
    key, values = requirement.key, ",".join(requirement.values)
    match requirement.operator:
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "Exists":
            return key
        case _:
            return f"!{key}"
