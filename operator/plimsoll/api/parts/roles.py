"""What an inference job is made of: roles, the replicas of each, and the load that these carry."""

import re
from datetime import timedelta
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from plimsoll.api.model import ApiModel
from plimsoll.api.parts.placement import Spot, Topology
from plimsoll.api.schema_marks import Rule, cel_rules, keyed_by
from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.api.values.amounts import Duration, GpuCount, PositiveQuantity
from plimsoll.api.values.quantities import thousandths
from plimsoll.api.values.scalars import ApiVersion, KindName, LabelValue, ResourceName, ShortName

MAX_REPLICAS = 1024
MAX_PODS_PER_REPLICA = 64
ANY_SIZE = "any"
DEFAULT_DRAIN: Final = timedelta(seconds=30)
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

_SCALED_IN_CORE: Final = Rule(
    "self.apiVersion.contains('/') || self.apiVersion == 'v1' &&"
    " self.kind == 'ReplicationController'",
    "must be GROUP/VERSION, such as apps/v1: of kinds without a group only ReplicationController"
    " has a /scale",
    ".apiVersion",
)

BUCKET_LABEL: Final = "^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
_LABELLED_SIZES: Final = Rule(
    "!has(self.requests) || self.requests != 'BySize'"
    f" || self.profiles.all(p, !has(p.bucket) || p.bucket.matches('{BUCKET_LABEL}'))",
    "must be the name of a label where requests go by size: letters, digits, '-', '_' and '.'",
    ".profiles",
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
    bucket: Annotated[str, Field(min_length=1, max_length=63)] = ANY_SIZE
    """The request sizes that this holds for, as the load's queries name them."""
    load: PositiveQuantity | None = None
    """What one replica carries, in the unit of the load's query, such as requests a second.
    Without it that is learned from the load and the latency of the replicas that run."""


Profiles = Annotated[
    tuple[Profile, ...], Field(min_length=1, max_length=64), keyed_by("type", "bucket")
]


Phase = Literal["Prefill", "Decode"]
"""What a replica spends its time on, where that is one thing: it decides what it draws."""


class Role(ApiModel):
    """One kind of pod, and how many of it."""

    model_config = cel_rules(_SHARED_OUT, _SERVERS_STAY, _LABELLED_SIZES)

    name: ShortName
    """The role's name, such as `server`, `prefill` or `decode`."""
    replicas: Replicas
    """Between which counts the role grows and shrinks."""
    gpus_per_replica: GpuCount
    """GPUs of each replica: a whole number shared out evenly to its pods, or for a single pod a
    fraction of one device such as `"0.25"`."""
    pods_per_replica: Annotated[int, Field(ge=1, le=MAX_PODS_PER_REPLICA)] = 1
    """Pods that make up one replica, useful only together."""
    template: PodTemplate
    """The pod. GPUs and names are added to it."""
    profiles: Profiles
    """The GPU types that the role can run on, and the load that one replica carries there."""
    requests: Literal["Anywhere", "BySize"] = "Anywhere"
    """Where a router sends requests: `Anywhere`: those of all sizes to all replicas. `BySize`:
    those of a bucket only to pods with the label `sizes.plimsoll.dev/BUCKET: "true"`; replicas may
    then be for some sizes alone, on the GPU type that is cheapest for these."""
    spot: Spot = Spot()
    """Whether replicas may run on spot capacity."""
    topology: Topology = Topology()
    """How close together the pods of one replica are."""
    utilization: Phase | None = None
    """What replicas spend their time on, where that is one thing: `Prefill` draws the most power,
    `Decode` the least. Without it they do both."""
    drain: Duration = DEFAULT_DRAIN
    """How long a replica that goes may still answer the requests that it has, after no new ones are
    sent to it. With `0s` its pods are deleted at once."""

    @property
    def milli_gpus_per_pod(self) -> int:
        """The GPUs of each pod, in thousandths of a device."""
        return thousandths(self.gpus_per_replica / self.pods_per_replica)

    @model_validator(mode="after")
    def _hold_together(self) -> Self:
        even = self.pods_per_replica == 1 or self.gpus_per_replica % self.pods_per_replica == 0
        _SHARED_OUT.require(holds=even)
        _SERVERS_STAY.require(holds=self.template.spec.restart_policy in (None, "Always"))
        named = all(re.fullmatch(BUCKET_LABEL, each.bucket) for each in self.profiles)
        _LABELLED_SIZES.require(holds=self.requests == "Anywhere" or named)
        return self


class TargetRef(ApiModel):
    """An existing workload with a `/scale`, which keeps its own pods."""

    model_config = cel_rules(_SCALED_IN_CORE)

    api_version: ApiVersion
    """The workload's API version, such as `apps/v1`."""
    kind: KindName
    """The workload's kind, such as `Deployment`."""
    name: ResourceName
    """The workload's name, in the job's namespace."""
    replicas: Replicas
    """Between which counts the workload grows and shrinks."""
    profiles: Profiles
    """The GPU types that it can run on, and the load that one replica carries there."""
    utilization: Phase | None = None
    """What its replicas spend their time on, where that is one thing: `Prefill` or `Decode`."""

    @model_validator(mode="after")
    def _has_a_scale(self) -> Self:
        grouped = "/" in self.api_version
        core = (self.api_version, self.kind) == ("v1", "ReplicationController")
        _SCALED_IN_CORE.require(holds=grouped or core)
        return self
