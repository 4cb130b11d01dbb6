"""What a job's pod template must say, and what of it the plan reads.

It lies over Kubernetes' own schema (`kubernetes_schema`): whatever else that allows in a pod
template is checked by it, and kept as it is.
"""

from typing import Annotated, Final, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator

from plimsoll.api.model import ApiModel
from plimsoll.api.schema_marks import ATOMIC, Rule, cel_rules, keyed_by
from plimsoll.api.templates.kubernetes_schema import TYPE
from plimsoll.api.templates.raw_template import readable
from plimsoll.api.values.amounts import ResourceQuantity
from plimsoll.api.values.scalars import Word

_GPUS: Final = {"nvidia.com/gpu", "nvidia.com/gpu.shared", "amd.com/gpu"}
_NO_GPUS: Final = Rule(
    "!has(self.resources) || ["
    "has(self.resources.requests) ? self.resources.requests : {},"
    " has(self.resources.limits) ? self.resources.limits : {}"
    "].all(amounts, amounts.all(name, !(name in ['nvidia.com/gpu', 'nvidia.com/gpu.shared',"
    " 'amd.com/gpu']) && !name.startsWith('nvidia.com/mig-')))",
    "must not ask for GPUs: take nvidia.com/gpu and its kin out, gpusPerWorker or gpusPerReplica"
    " says how many there are",
    ".resources",
)
_NO_PRIORITY: Final = Rule(
    "!has(self.priorityClassName)",
    "must be left out: set priorityClassName of the job instead",
    ".priorityClassName",
)
_NO_NODE: Final = Rule(
    "!has(self.nodeName)",
    "must be left out: the plan chooses the nodes, nodeSelector or affinity limit its choice",
    ".nodeName",
)

ResourceQuantities = Annotated[dict[str, ResourceQuantity], Field(max_length=32)]
"""Quantities by resource name, such as `cpu` and `memory`."""


class OpenModel(ApiModel):
    """A part of the template that keeps the fields it does not name."""

    model_config = ConfigDict(extra="allow")

    def wire(self) -> dict[str, JsonValue]:
        """Return what the user wrote, and nothing else."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class ContainerResources(OpenModel):
    """What a container asks of its node, beside its GPUs."""

    requests: ResourceQuantities = Field(default_factory=dict[str, int | str])
    """The least that the container gets, by resource; a plan counts with it."""
    limits: ResourceQuantities = Field(default_factory=dict[str, int | str])
    """The most that the container gets, by resource."""


class Container(OpenModel):
    """A container of each pod; Kubernetes' other fields for containers are kept as they are."""

    model_config = cel_rules(_NO_GPUS)

    name: Annotated[str, Field(min_length=1, max_length=63)]
    """The container's name, unique in the pod."""
    image: Annotated[str, Field(min_length=1, max_length=1024)]
    """The image that it runs."""
    resources: ContainerResources = ContainerResources()
    """CPU, memory and other resources. GPUs are added by Plimsoll, to the first container."""
    restart_policy: Annotated[str, Field(max_length=16)] | None = None
    """`Always` makes an init container a sidecar, which runs beside the others."""

    @model_validator(mode="after")
    def _asks_for_no_gpus(self) -> Self:
        asked = [*self.resources.requests, *self.resources.limits]
        gpus = [name for name in asked if name in _GPUS or name.startswith("nvidia.com/mig-")]
        _NO_GPUS.require(holds=not gpus)
        return self


class Toleration(OpenModel):
    """A taint of nodes that the pods put up with."""

    key: Annotated[str, Field(max_length=317)] | None = None
    """The taint's key; without one, every taint."""
    operator: Annotated[str, Field(max_length=16)] | None = None
    """`Equal` (the default), `Exists`, or a comparison that the cluster knows."""
    value: Annotated[str, Field(max_length=63)] | None = None
    """The taint's value, for operators that compare."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """The taint's effect; without one, every effect."""
    toleration_seconds: int | None = None
    """How long a `NoExecute` taint is put up with."""


class NodeRequirement(OpenModel):
    """A comparison with a label or field of a node."""

    key: Annotated[str, Field(min_length=1, max_length=317)]
    """The label's key, or the field's name."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    """How the values are compared."""
    values: Annotated[tuple[str, ...], Field(max_length=1024), ATOMIC] = ()
    """What it is compared with."""


class NodeTerm(OpenModel):
    """Requirements of which a node must satisfy all."""

    match_expressions: Annotated[tuple[NodeRequirement, ...], Field(max_length=64), ATOMIC] = ()
    """Requirements on the node's labels."""
    match_fields: Annotated[tuple[NodeRequirement, ...], Field(max_length=64), ATOMIC] = ()
    """Requirements on the node's fields, such as `metadata.name`."""


class NodeSelector(OpenModel):
    """Terms of which a node must satisfy one."""

    node_selector_terms: Annotated[tuple[NodeTerm, ...], Field(max_length=64), ATOMIC]
    """The terms."""


class NodeAffinity(OpenModel):
    """Which nodes the pods may or would like to run on."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    """What a node must satisfy; a plan keeps to it."""


class Affinity(OpenModel):
    """What attracts the pods to nodes and to each other."""

    node_affinity: NodeAffinity | None = None
    """Attraction to nodes."""


class PodSpec(OpenModel):
    """The pods' spec; Kubernetes' other fields for pods are kept as they are."""

    model_config = cel_rules(_NO_PRIORITY, _NO_NODE)

    containers: Annotated[
        tuple[Container, ...], Field(min_length=1, max_length=32), keyed_by("name")
    ]
    """The containers. The first one gets the GPUs."""
    init_containers: Annotated[tuple[Container, ...], Field(max_length=32), keyed_by("name")] = ()
    """Containers that run before the others, or beside them as sidecars."""
    node_selector: Annotated[dict[str, str], Field(max_length=64)] = Field(
        default_factory=dict[str, str]
    )
    """Labels that a node must have."""
    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=128), ATOMIC] = ()
    """Taints that the pods put up with."""
    affinity: Affinity | None = None
    """What attracts the pods to nodes and to each other."""
    overhead: ResourceQuantities = Field(default_factory=dict[str, int | str])
    """What each pod costs its node beyond its containers."""
    restart_policy: Literal["Always", "OnFailure", "Never"] | None = None
    """When kubelet restarts a container: for training `OnFailure` or `Never`, else `Always`."""
    termination_grace_period_seconds: Annotated[int, Field(ge=0, le=86400)] | None = None
    """How long a pod has from SIGTERM to its end; for training at least what a save takes."""
    priority_class_name: Word | None = None
    """To be left out: the job's own `priorityClassName` stands for all its pods."""
    node_name: Word | None = None
    """To be left out: the plan chooses the nodes."""
    scheduler_name: Word | None = None
    """The scheduler that binds the pods to the nodes that the plan chose."""

    @model_validator(mode="after")
    def _leaves_the_choice_to_the_job(self) -> Self:
        _NO_PRIORITY.require(holds=self.priority_class_name is None)
        _NO_NODE.require(holds=self.node_name is None)
        return self


class PodMetadata(OpenModel):
    """Labels and annotations of each pod."""

    labels: Annotated[dict[str, str], Field(max_length=128)] = Field(default_factory=dict[str, str])
    """Labels that each pod carries beside those of Plimsoll."""
    annotations: Annotated[dict[str, str], Field(max_length=128)] = Field(
        default_factory=dict[str, str]
    )
    """Annotations that each pod carries."""


class PodTemplate(OpenModel):
    """A PodTemplateSpec."""

    model_config = ConfigDict(json_schema_extra={TYPE: "PodTemplateSpec"})

    metadata: PodMetadata = PodMetadata()
    """Labels and annotations of each pod."""
    spec: PodSpec
    """What each pod runs."""

    @model_validator(mode="before")
    @classmethod
    def _is_what_kubernetes_takes(cls, raw: object) -> object:
        return readable(raw)
