"""The roles of an inference job, their replicas, and the load these carry."""

import math
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
    "must be a multiple of podsPerReplica: it is the total over the replica's pods",
    ".gpusPerReplica",
)
_SERVERS_STAY: Final = Rule(
    "!has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy == 'Always'",
    "must be Always, or omitted: a replica serves until it is removed",
    ".template.spec.restartPolicy",
)

_SCALED_IN_CORE: Final = Rule(
    "self.apiVersion.contains('/') || self.apiVersion == 'v1' &&"
    " self.kind == 'ReplicationController'",
    "must be GROUP/VERSION, such as apps/v1: in the core group only ReplicationController has a"
    " /scale",
    ".apiVersion",
)

BUCKET_LABEL: Final = "^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
_LABELLED_SIZES: Final = Rule(
    "!has(self.requests) || self.requests != 'BySize'"
    f" || self.profiles.all(p, !has(p.bucket) || p.bucket.matches('{BUCKET_LABEL}'))",
    "may use only letters, digits, '-', '_' and '.' in bucket if requests is BySize: rename it",
    ".profiles",
)


class Replicas(ApiModel):
    """Range in which the replica count follows the load."""

    model_config = cel_rules(_MAX_FROM_MIN)

    min: ReplicaCount
    """Fewest replicas; 0 allows scaling to zero."""
    max: Annotated[int, Field(ge=1, le=MAX_REPLICAS)]
    """Most replicas."""

    @model_validator(mode="after")
    def _max_from_min(self) -> Self:
        _MAX_FROM_MIN.require(holds=self.min <= self.max)
        return self


class Profile(ApiModel):
    """Load that one replica carries on one GPU type within the service level."""

    type: LabelValue
    """GPU type by its product label, such as `NVIDIA-L4`."""
    bucket: Annotated[str, Field(min_length=1, max_length=63)] = ANY_SIZE
    """Request sizes it covers, as load queries name them."""
    load: PositiveQuantity | None = None
    """Load per replica, in the unit of the load query, such as requests per second. Default:
    learned from running replicas."""


Profiles = Annotated[
    tuple[Profile, ...], Field(min_length=1, max_length=64), keyed_by("type", "bucket")
]


Phase = Literal["Prefill", "Decode"]
"""The one thing a replica spends its time on, if any; it determines the power draw."""


class Role(ApiModel):
    """One kind of pod, and how many of it."""

    model_config = cel_rules(_SHARED_OUT, _SERVERS_STAY, _LABELLED_SIZES)

    name: ShortName
    """Name, such as `server`, `prefill` or `decode`."""
    replicas: Replicas
    """Range of the replica count."""
    gpus_per_replica: GpuCount
    """GPUs per replica: a whole number, split evenly among its pods, or, for a single pod, a
    fraction of one device such as `"0.25"`."""
    weights_memory: PositiveQuantity | None = None
    """GPU memory that a replica with a fraction of a GPU always holds, such as `16Gi`: its weights,
    without its cache. Replicas that share GPUs never hold more together than there is, and sit
    where most is left for each one's load. Default: unknown; assumed to be half of its share."""
    pods_per_replica: Annotated[int, Field(ge=1, le=MAX_PODS_PER_REPLICA)] = 1
    """Pods per replica, useful only together."""
    template: PodTemplate
    """The pod. Plimsoll adds GPUs and names."""
    profiles: Profiles
    """GPU types the role can run on, with the load per replica."""
    requests: Literal["Anywhere", "BySize"] = "Anywhere"
    """Where a router sends requests. `Anywhere`: any size to any replica. `BySize`: each bucket
    only to pods labelled `sizes.plimsoll.dev/BUCKET: "true"`, so that replicas may serve some sizes
    only, on the cheapest GPU type for them."""
    spot: Spot = Spot()
    """Whether replicas may use spot capacity."""
    topology: Topology = Topology()
    """How close together the pods of a replica must be."""
    utilization: Phase | None = None
    """What replicas mainly do: `Prefill` draws the most power, `Decode` the least. Default:
    both."""
    drain: Duration = DEFAULT_DRAIN
    """How long a departing replica may finish its requests, without new ones. `0s`: its pods are
    deleted at once."""

    @property
    def milli_gpus_per_pod(self) -> int:
        """GPUs per pod, in thousandths of a device."""
        return thousandths(self.gpus_per_replica / self.pods_per_replica)

    @property
    def shared_weights_bytes(self) -> int:
        """What a replica always holds of a GPU that it shares; 0 if unknown, or it shares none."""
        if self.weights_memory is None or self.gpus_per_replica >= 1:
            return 0
        return math.ceil(self.weights_memory)

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
    """API version, such as `apps/v1`."""
    kind: KindName
    """Kind, such as `Deployment`."""
    name: ResourceName
    """Name, in the job's namespace."""
    replicas: Replicas
    """Range of the replica count."""
    profiles: Profiles
    """GPU types it can run on, with the load per replica."""
    utilization: Phase | None = None
    """What replicas mainly do: `Prefill` or `Decode`. Default: both."""

    @model_validator(mode="after")
    def _has_a_scale(self) -> Self:
        grouped = "/" in self.api_version
        core = (self.api_version, self.kind) == ("v1", "ReplicationController")
        _SCALED_IN_CORE.require(holds=grouped or core)
        return self
