"""The parts of a job's pod template that plans read, and the rules it must follow.

They overlay Kubernetes' own schema (`kubernetes_schema`), which checks everything else; all of it
is kept as written.
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
    "must not request GPUs: remove nvidia.com/gpu and the like; use gpusPerWorker or"
    " gpusPerReplica",
    ".resources",
)
_NO_PRIORITY: Final = Rule(
    "!has(self.priorityClassName)",
    "must be omitted: set the job's priorityClassName instead",
    ".priorityClassName",
)
_NO_NODE: Final = Rule(
    "!has(self.nodeName)",
    "must be omitted: plans choose the nodes; use nodeSelector or affinity to restrict them",
    ".nodeName",
)

ResourceQuantities = Annotated[dict[str, ResourceQuantity], Field(max_length=32)]
"""Quantities by resource name, such as `cpu` and `memory`."""


class OpenModel(ApiModel):
    """A part of the template that keeps fields it does not name."""

    model_config = ConfigDict(extra="allow")

    def wire(self) -> dict[str, JsonValue]:
        """Return what the user wrote, and nothing else."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class ContainerResources(OpenModel):
    """Resources of a container, other than GPUs."""

    requests: ResourceQuantities = Field(default_factory=dict[str, int | str])
    """Resources the container is guaranteed; plans count these."""
    limits: ResourceQuantities = Field(default_factory=dict[str, int | str])
    """The most the container may use, by resource."""


class Container(OpenModel):
    """A container; other Kubernetes fields are kept as written."""

    model_config = cel_rules(_NO_GPUS)

    name: Annotated[str, Field(min_length=1, max_length=63)]
    """Name, unique in the pod."""
    image: Annotated[str, Field(min_length=1, max_length=1024)]
    """Image to run."""
    resources: ContainerResources = ContainerResources()
    """CPU, memory and other resources. Plimsoll adds GPUs to the first container."""
    restart_policy: Annotated[str, Field(max_length=16)] | None = None
    """`Always` makes an init container a sidecar, which runs beside the others."""

    @model_validator(mode="after")
    def _asks_for_no_gpus(self) -> Self:
        requested = [*self.resources.requests, *self.resources.limits]
        gpus = [name for name in requested if name in _GPUS or name.startswith("nvidia.com/mig-")]
        _NO_GPUS.require(holds=not gpus)
        return self


class Toleration(OpenModel):
    """A node taint that the pods tolerate."""

    key: Annotated[str, Field(max_length=317)] | None = None
    """Taint key; without one, every taint."""
    operator: Annotated[str, Field(max_length=16)] | None = None
    """`Equal` (the default), `Exists`, or a comparison that the cluster supports."""
    value: Annotated[str, Field(max_length=63)] | None = None
    """Taint value, for operators that compare."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """Taint effect; without one, every effect."""
    toleration_seconds: int | None = None
    """How long a `NoExecute` taint is tolerated."""


class NodeRequirement(OpenModel):
    """A requirement on a node label or field."""

    key: Annotated[str, Field(min_length=1, max_length=317)]
    """Label key or field name."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    """How the values are compared."""
    values: Annotated[tuple[str, ...], Field(max_length=1024), ATOMIC] = ()
    """Values to compare with."""


class NodeTerm(OpenModel):
    """Requirements that a node must all satisfy."""

    match_expressions: Annotated[tuple[NodeRequirement, ...], Field(max_length=64), ATOMIC] = ()
    """Requirements on node labels."""
    match_fields: Annotated[tuple[NodeRequirement, ...], Field(max_length=64), ATOMIC] = ()
    """Requirements on node fields, such as `metadata.name`."""


class NodeSelector(OpenModel):
    """Terms of which a node must satisfy at least one."""

    node_selector_terms: Annotated[tuple[NodeTerm, ...], Field(max_length=64), ATOMIC]
    """The terms."""


class NodeAffinity(OpenModel):
    """Which nodes the pods must or should run on."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    """Requirements on nodes; plans respect them."""


class Affinity(OpenModel):
    """What attracts pods to nodes and to each other."""

    node_affinity: NodeAffinity | None = None
    """Attraction to nodes."""


class PodSpec(OpenModel):
    """The pod spec; other Kubernetes fields are kept as written."""

    model_config = cel_rules(_NO_PRIORITY, _NO_NODE)

    containers: Annotated[
        tuple[Container, ...], Field(min_length=1, max_length=32), keyed_by("name")
    ]
    """Containers. The first one gets the GPUs."""
    init_containers: Annotated[tuple[Container, ...], Field(max_length=32), keyed_by("name")] = ()
    """Containers that run before the others, or beside them as sidecars."""
    node_selector: Annotated[dict[str, str], Field(max_length=64)] = Field(
        default_factory=dict[str, str]
    )
    """Labels that a node must have."""
    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=128), ATOMIC] = ()
    """Taints that the pods tolerate."""
    affinity: Affinity | None = None
    """What attracts pods to nodes and to each other."""
    overhead: ResourceQuantities = Field(default_factory=dict[str, int | str])
    """Resources each pod uses beyond its containers."""
    restart_policy: Literal["Always", "OnFailure", "Never"] | None = None
    """When the kubelet restarts containers: `OnFailure` or `Never` for training, `Always` for
    services."""
    termination_grace_period_seconds: Annotated[int, Field(ge=0, le=86400)] | None = None
    """Time from SIGTERM to SIGKILL; for training, at least the time to save."""
    priority_class_name: Word | None = None
    """Must be omitted: the job's `priorityClassName` applies."""
    node_name: Word | None = None
    """Must be omitted: plans choose the nodes."""
    scheduler_name: Word | None = None
    """The scheduler that binds pods to the nodes that plans choose."""

    @model_validator(mode="after")
    def _leaves_the_choice_to_the_job(self) -> Self:
        _NO_PRIORITY.require(holds=self.priority_class_name is None)
        _NO_NODE.require(holds=self.node_name is None)
        return self


class PodMetadata(OpenModel):
    """Labels and annotations of each pod."""

    labels: Annotated[dict[str, str], Field(max_length=128)] = Field(default_factory=dict[str, str])
    """Labels of each pod, in addition to Plimsoll's."""
    annotations: Annotated[dict[str, str], Field(max_length=128)] = Field(
        default_factory=dict[str, str]
    )
    """Annotations of each pod."""


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
