"""What an inference job is made of: roles, the replicas of each, and the load that these carry."""

from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from plimsoll.api.amounts import GpuCount, PositiveQuantity
from plimsoll.api.job_parts import Spot, Topology
from plimsoll.api.model import ApiModel
from plimsoll.api.pod_template import PodTemplate
from plimsoll.api.quantities import thousandths
from plimsoll.api.scalars import LabelValue, ResourceName, ShortName
from plimsoll.api.schema_marks import Rule, cel_rules, keyed_by

MAX_REPLICAS = 1024
ReplicaCount = Annotated[int, Field(ge=0, le=MAX_REPLICAS)]


_MAX_FROM_MIN: Final = Rule(
    "self.min <= self.max", "must be at least min: raise max or lower min", ".max"
)
_SHARED_OUT: Final = Rule(
    "self.podsPerReplica == 1 || !isQuantity(string(self.gpusPerReplica))"
    " || quantity(string(self.gpusPerReplica)).isInteger() &&"
    " quantity(string(self.gpusPerReplica)).asInteger() % self.podsPerReplica == 0",
    "must be a multiple of podsPerReplica: it counts the GPUs of all pods of a replica together",
    ".gpusPerReplica",
)
_SERVERS_STAY: Final = Rule(
    "!has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy == 'Always'",
    "must be Always, or be left out: a replica serves until it is taken away",
    ".template.spec.restartPolicy",
)


class Replicas(ApiModel):
    """Between which counts a role grows and shrinks with the load."""

    model_config = cel_rules(_MAX_FROM_MIN)

    min: ReplicaCount
    """The fewest replicas. 0 lets the role sleep when there is no load."""
    max: Annotated[int, Field(ge=1, le=MAX_REPLICAS)]
    """The most replicas."""

    @model_validator(mode="after")
    def _max_from_min(self) -> Self:
        _MAX_FROM_MIN.require(holds=self.min <= self.max)
        return self


class Profile(ApiModel):
    """The load that one replica carries on one GPU type within the objective."""

    type: LabelValue
    """The GPU type by its product label, such as `NVIDIA-L4`."""
    bucket: Annotated[str, Field(min_length=1, max_length=63)] = "any"
    """The request sizes that this holds for, as the load's queries name them."""
    load: PositiveQuantity
    """What one replica carries, in the unit of the load's query, such as requests a second."""


Profiles = Annotated[
    tuple[Profile, ...], Field(min_length=1, max_length=64), keyed_by("type", "bucket")
]


class Role(ApiModel):
    """One kind of pod, and how many of it."""

    model_config = cel_rules(_SHARED_OUT, _SERVERS_STAY)

    name: ShortName
    """The role's name, such as `server`, `prefill` or `decode`."""
    replicas: Replicas
    """Between which counts the role grows and shrinks."""
    gpus_per_replica: GpuCount
    """GPUs of each replica: a whole number shared out evenly to its pods, or for a single pod a
    fraction of one device such as `"0.25"`."""
    pods_per_replica: Annotated[int, Field(ge=1, le=64)] = 1
    """Pods that make up one replica, useful only together."""
    template: PodTemplate
    """The pod. GPUs and names are added to it."""
    profiles: Profiles
    """The GPU types that the role can run on, and the load that one replica carries there."""
    spot: Spot = Spot()
    """Whether replicas may run on spot capacity."""
    topology: Topology = Topology()
    """How close together the pods of one replica are."""

    @property
    def milli_gpus_per_pod(self) -> int:
        """The GPUs of each pod, in thousandths of a device."""
        return thousandths(self.gpus_per_replica / self.pods_per_replica)

    @model_validator(mode="after")
    def _hold_together(self) -> Self:
        even = self.pods_per_replica == 1 or self.gpus_per_replica % self.pods_per_replica == 0
        _SHARED_OUT.require(holds=even)
        _SERVERS_STAY.require(holds=self.template.spec.restart_policy in (None, "Always"))
        return self


class TargetRef(ApiModel):
    """An existing workload with a `/scale`, which keeps its own pods."""

    api_version: Annotated[str, Field(min_length=1, max_length=317)]
    """The workload's API version, such as `apps/v1`."""
    kind: Annotated[str, Field(min_length=1, max_length=63)]
    """The workload's kind, such as `Deployment`."""
    name: ResourceName
    """The workload's name, in the job's namespace."""
    replicas: Replicas
    """Between which counts the workload grows and shrinks."""
    profiles: Profiles
    """The GPU types that it can run on, and the load that one replica carries there."""
