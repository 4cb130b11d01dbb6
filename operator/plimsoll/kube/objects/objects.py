"""Kubernetes objects, reduced to the fields that Plimsoll reads.

Everything else is skipped while decoding, which keeps 10,000 pods small. The structs are frozen, so
that a stored one can be handed out without a copy. None of them can be part of a cycle, so the
garbage collector need not track them.

The operator's own kinds are in `plimsoll.api`.
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

import msgspec

Labels = Mapping[str, str]
Quantities = Mapping[str, str | int]

# Shared: a fresh {} for each unset field would be a tenth of a pod's memory.
_EMPTY: Mapping[str, Any] = MappingProxyType({})


class Wire(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """The layout of all structs of this module, in memory and on the wire."""


class OwnerReference(Wire, frozen=True):
    """The owner of an object, with which it is deleted."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Wire, frozen=True):
    """Name, identity and version of an object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: Labels = _EMPTY
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls it; None if nothing does."""
        return next((each for each in self.owner_references if each.controller), None)


class KubeObject(Wire, frozen=True):
    """Anything stored under a name of its own, which can therefore be watched."""

    metadata: ObjectMeta = ObjectMeta()


# Pods


class ResourceRequirements(Wire, frozen=True):
    """What a container requests (`requests`) and may use at most (`limits`)."""

    requests: Quantities = _EMPTY
    limits: Quantities = _EMPTY


class ContainerPort(Wire, frozen=True):
    """A port of a container; `host_port`: that of its node, 0 for none."""

    container_port: int = 0
    host_port: int = 0
    protocol: str = "TCP"


class Container(Wire, frozen=True):
    """A container; `restart_policy` Always makes an init container a sidecar."""

    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str = ""
    ports: tuple[ContainerPort, ...] = ()


class NodeSelectorRequirement(Wire, frozen=True):
    """`key` `operator` `values`, on a label or a field."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Wire, frozen=True):
    """Requirements that must all hold; a term without any matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Wire, frozen=True):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class NodeAffinity(Wire, frozen=True):
    """The nodes on which a pod may be placed."""

    required: NodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class LabelSelectorRequirement(Wire, frozen=True):
    """`key` `operator` `values`, on a label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Wire, frozen=True):
    """Selects objects by their labels; all of it must hold."""

    match_labels: Labels = _EMPTY
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class PodAffinityTerm(Wire, frozen=True):
    """Pods of its own namespace, or of those that are named, in one domain of a node label."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class PodAntiAffinity(Wire, frozen=True):
    """The pods with which a pod must not share a domain."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(
        default=(), name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Wire, frozen=True):
    """A pod's affinity to nodes, and which pods it must keep away from."""

    node_affinity: NodeAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class Toleration(Wire, frozen=True):
    """The taints that a pod tolerates; an empty key or effect matches all."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class SchedulingGate(Wire, frozen=True):
    """What must be removed before the scheduler considers a pod."""

    name: str


class SchedulingGroup(Wire, frozen=True):
    """The PodGroup that a pod names as its own."""

    pod_group_name: str = ""


class ReadinessGate(Wire, frozen=True):
    """An additional condition for a pod to be ready, which somebody else sets."""

    condition_type: str


class ClaimSource(Wire, frozen=True):
    """The PersistentVolumeClaim by which a pod gets a volume."""

    claim_name: str = ""


class Volume(Wire, frozen=True):
    """A volume of a pod; of other sources than claims nothing is read."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None


class PodSpec(Wire, frozen=True):
    """What decides where a pod can run, and what it takes there."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: ResourceRequirements | None = None
    overhead: Quantities = _EMPTY
    host_network: bool = False
    node_selector: Labels = _EMPTY
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    readiness_gates: tuple[ReadinessGate, ...] = ()
    priority: int | None = None
    priority_class_name: str = ""
    scheduler_name: str = ""
    scheduling_group: SchedulingGroup | None = None
    volumes: tuple[Volume, ...] = ()

    @property
    def claimed(self) -> tuple[Volume, ...]:
        """The volumes that it gets by claims."""
        return tuple(each for each in self.volumes if each.persistent_volume_claim is not None)


class Terminated(Wire, frozen=True):
    """How a container ended."""

    exit_code: int
    reason: str = ""
    message: str = ""
    finished_at: datetime | None = None


class Waiting(Wire, frozen=True):
    """Why a container does not run yet."""

    reason: str = ""
    message: str = ""


class ContainerState(Wire, frozen=True):
    """With neither of the two set, the container runs."""

    terminated: Terminated | None = None
    waiting: Waiting | None = None


class ContainerStatus(Wire, frozen=True):
    """The state of a container."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodCondition(Wire, frozen=True):
    """One aspect of a pod's state: `status` is "True", "False" or "Unknown"."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class PodStatus(Wire, frozen=True):
    """The state of a pod."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[PodCondition, ...] = ()
    start_time: datetime | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(KubeObject, frozen=True):
    """A pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


# Nodes


class Taint(Wire, frozen=True):
    """What keeps away pods that do not tolerate it."""

    key: str
    effect: str
    value: str = ""


class NodeSpec(Wire, frozen=True):
    """What an administrator or a controller has set on a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = msgspec.field(default="", name="providerID")


class NodeCondition(Wire, frozen=True):
    """One aspect of a node's state: `status` is "True", "False" or "Unknown"."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class NodeStatus(Wire, frozen=True):
    """What a node reports about itself."""

    capacity: Quantities = _EMPTY
    allocatable: Quantities = _EMPTY
    conditions: tuple[NodeCondition, ...] = ()


class NodeMeta(ObjectMeta, frozen=True):
    """Metadata with annotations, for nodes only: nodes are few, and pods' would take memory."""

    annotations: Labels = _EMPTY


class Node(KubeObject, frozen=True):
    """A node."""

    metadata: NodeMeta = NodeMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


# Other kinds that are watched or written


class PriorityClass(KubeObject, frozen=True):
    """A name for a priority."""

    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""


class ClaimReference(Wire, frozen=True):
    """The PersistentVolumeClaim that a volume is for."""

    namespace: str = ""
    name: str = ""


class VolumeNodeAffinity(Wire, frozen=True):
    """The nodes from which a volume can be reached."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Wire, frozen=True):
    """Whose a volume is, and where it can be reached."""

    claim_ref: ClaimReference | None = None
    node_affinity: VolumeNodeAffinity | None = None


class PersistentVolumeStatus(Wire, frozen=True):
    """The `phase` of a volume is "Bound" while its claim is."""

    phase: str = ""


class PersistentVolume(KubeObject, frozen=True):
    """A volume."""

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PodDisruptionBudgetSpec(Wire, frozen=True):
    """The pods that a budget protects; without a selector, none."""

    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(Wire, frozen=True):
    """How many of the protected pods may be disturbed now."""

    disruptions_allowed: int = 0


class PodDisruptionBudget(KubeObject, frozen=True):
    """How much disruption a set of pods tolerates."""

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class Namespace(KubeObject, frozen=True):
    """A namespace; one with a deletion timestamp takes no new objects."""


class LeaseSpec(Wire, frozen=True):
    """Who holds a lease, since when and for how long."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


class Lease(KubeObject, frozen=True):
    """A lease by which replicas agree on one leader."""

    spec: LeaseSpec = LeaseSpec()


class StatusDetails(Wire, frozen=True):
    """The object that a refusal is about."""

    name: str = ""
    kind: str = ""
    retry_after_seconds: int = 0


class Status(Wire, frozen=True):
    """The API server's explanation when it refuses a request."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: StatusDetails | None = None


class ListMeta(Wire, frozen=True):
    """The version of a list, and how to get its next page."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None
