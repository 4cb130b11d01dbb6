"""The InferenceJob: roles of replicas that serve a load within a service level."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from plimsoll.api.definition import AGE, Column, Definition, Scale
from plimsoll.api.model import KEEPS_UNKNOWN, ApiModel
from plimsoll.api.parts.conditions import Conditions
from plimsoll.api.parts.load import EACH_ROLE, Load, Scaling, ServiceLevel
from plimsoll.api.parts.placement import (
    JOB_NAME,
    OR_SUSPENDED,
    QUEUE_STAYS,
    Admission,
    Assignment,
    AvoidedNodes,
    require_job_name,
)
from plimsoll.api.parts.role_power import MOST_ROLES, RolePower
from plimsoll.api.parts.roles import ReplicaCount, Role, TargetRef
from plimsoll.api.resource import Resource
from plimsoll.api.schema_marks import ATOMIC, Rule, cel_rules, keyed_by
from plimsoll.api.values.amounts import Duration, Quantity
from plimsoll.api.values.scalars import Count, LabelValue, Message, ResourceName, Timestamp, Word

_ROLES_OR_TARGET: Final = Rule(
    "(has(self.roles) && self.roles.size() > 0) != has(self.targetRef)",
    "needs either roles or targetRef, an existing workload, but not both",
)
_PINNED_WITHIN: Final = Rule(
    "!has(self.replicas) || (has(self.targetRef) ? self.targetRef.replicas.min <= self.replicas"
    " && self.replicas <= self.targetRef.replicas.max : !has(self.roles) || self.roles.size() == 0"
    " || self.roles[0].replicas.min <= self.replicas"
    " && self.replicas <= self.roles[0].replicas.max)",
    "must be between replicas.min and replicas.max of the first role or of targetRef:"
    " widen these first",
    ".replicas",
)
_QUERIES_OF_ROLES: Final = Rule(
    "!has(self.load) || !has(self.load.queries) || self.load.queries.all(q, q.role == '*' ||"
    " has(self.roles) && self.roles.exists(r, r.name == q.role))",
    "must name a role in spec.roles: correct role, or omit it",
    ".load.queries",
)
_TARGET_STAYS: Final = Rule(
    "(has(self.targetRef) ? has(oldSelf.targetRef)"
    " && self.targetRef.apiVersion == oldSelf.targetRef.apiVersion"
    " && self.targetRef.kind == oldSelf.targetRef.kind"
    " && self.targetRef.name == oldSelf.targetRef.name : !has(oldSelf.targetRef))" + OR_SUSPENDED,
    "can change only while the job is suspended: set suspend to true first",
    ".targetRef",
)


class InferenceJobSpec(ApiModel):
    """The desired state: `roles`, whose pods Plimsoll creates, or a `targetRef`."""

    model_config = cel_rules(
        _ROLES_OR_TARGET, _PINNED_WITHIN, _QUERIES_OF_ROLES, QUEUE_STAYS, _TARGET_STAYS
    )

    queue: ResourceName = "default"
    """The JobQueue whose share the job uses."""
    priority_class_name: ResourceName | None = None
    """The PriorityClass; higher priorities go first and may preempt. Default: the cluster's."""
    suspend: bool = False
    """Whether the job gives up its place until this is false again."""
    replicas: ReplicaCount | None = None
    """Fixed replica count of the first role, as set by `kubectl scale`, an HPA or KEDA. Default:
    chosen by plans from `min` to `max`."""
    roles: Annotated[tuple[Role, ...], Field(max_length=8), keyed_by("name")] = ()
    """Kinds of pod that serve together."""
    target_ref: TargetRef | None = None
    """Existing workload to place and scale, instead of `roles`."""
    load: Load = Load()
    """How load is measured and forecast."""
    slo: ServiceLevel = ServiceLevel()
    """What requests are promised."""
    scaling: Scaling = Scaling()
    """How fast replicas follow the load."""

    @property
    def milli_gpus_by_role(self) -> Mapping[str, int]:
        """GPUs of each pod by role, in thousandths of a device."""
        return {role.name: role.milli_gpus_per_pod for role in self.roles}

    @model_validator(mode="after")
    def _hold_together(self) -> Self:
        _ROLES_OR_TARGET.require(holds=bool(self.roles) != (self.target_ref is not None))
        bounds = self.target_ref.replicas if self.target_ref else self.roles[0].replicas
        pinned = bounds.min if self.replicas is None else self.replicas
        _PINNED_WITHIN.require(holds=bounds.min <= pinned <= bounds.max)
        queried = {query.role for query in self.load.queries} - {EACH_ROLE}
        _QUERIES_OF_ROLES.require(holds=queried <= {role.name for role in self.roles})
        return self


class InferencePlacement(ApiModel):
    """Where the job runs under the current plan; its pods follow from it."""

    revision: Count
    """Increases with each change of place or size."""
    generation: Count | None = None
    """Spec generation it was decided for."""
    assignments: Annotated[tuple[Assignment, ...], Field(max_length=4096), ATOMIC] = ()
    """Nodes of each replica."""


class PoolReplicas(ApiModel):
    """A role's replicas of one GPU type in one pool."""

    pool: Word
    """GPUPool."""
    accelerator_type: Word
    """GPU type."""
    wanted: Count = 0
    """Replicas planned there."""
    ready: Count = 0
    """Replicas ready."""


class LoadStatus(ApiModel):
    """The load, in the unit of the profiles."""

    observed: Quantity | None = None
    """Recent load."""
    forecast: Quantity | None = None
    """Load forecast at `horizon`, at the quantile that is provisioned for."""


class UnservedLoad(ApiModel):
    """How much load exceeded the ready capacity; recent times count more, by a half-life of a week.

    Written once an hour.
    """

    percent: Quantity
    """Share of the load."""
    load: Quantity
    """Mean load."""
    seconds: Count
    """Seconds measured, discounted."""
    time: Timestamp
    """When this was written."""


class BucketLoad(LoadStatus):
    """The load of some request sizes, and the capacity wanted for it."""

    bucket: Word
    """Request sizes, as queries and profiles name them; `any`: all."""
    wanted: Quantity
    """Capacity wanted: the forecast, after `scaling`."""
    since: Timestamp
    """Since when that much is wanted."""
    quantile: Quantity | None = None
    """Forecast quantile provisioned for. Default: none, as there is no forecast yet."""
    unserved: UnservedLoad | None = None
    """What was unserved, which lowers or raises what may be from here on. Default: `quantile` is
    fixed, or nothing was measured."""
    size_group: Word | None = None
    """With `BySize`, the replicas that carry it, named by the cheapest GPU type for it. Default:
    all."""


class MeasuredCapacity(ApiModel):
    """Load that a replica was seen to carry within the service level."""

    type: LabelValue
    """GPU type."""
    bucket: Word
    """Request sizes it holds for."""
    load: Quantity
    """Load per replica, in the unit of the profiles."""
    seconds: Count
    """Seconds measured; the longer, the steadier."""


class RoleStatus(ApiModel):
    """Replica counts of a role."""

    name: Word
    """The role's name."""
    wanted: Count = 0
    """Replicas wanted for the load, or the fixed count."""
    ready: Count = 0
    """Replicas ready."""
    pools: Annotated[tuple[PoolReplicas, ...], Field(max_length=64), ATOMIC] = ()
    """Their pools; one with several GPU types appears once for each."""
    draining: Count = 0
    """Replicas finishing their last requests."""
    loads: Annotated[tuple[BucketLoad, ...], Field(max_length=64), keyed_by("bucket")] = ()
    """Load by request size, which alone determines the replica count and so survives restarts."""
    measured: Annotated[
        tuple[MeasuredCapacity, ...], Field(max_length=64), keyed_by("type", "bucket")
    ] = ()
    """Measured capacity per replica, which corrects the profiles."""


class BacklogStatus(ApiModel):
    """Offline inference: work left to do by `load.deadline`."""

    left: Quantity
    """Work left, in the unit of the `Backlog` query."""
    expected_completion: Timestamp | None = None
    """When placed replicas will finish it."""
    late_by: Duration | None = None
    """How far past the deadline; unset if in time."""


class TargetStatus(ApiModel):
    """What Plimsoll sets on the workload of `targetRef`."""

    replicas: Count
    """Replica count set."""
    reached: bool = False
    """Whether the workload had that count."""
    found: Count
    """Replica count when first seen, kept while no load is known."""
    overridden_times: Annotated[tuple[Timestamp, ...], Field(max_length=16), ATOMIC] = ()
    """When others recently set a different count."""


class InferenceJobStatus(ApiModel):
    """The observed state; everything that must survive an operator restart is here."""

    model_config = KEEPS_UNKNOWN

    observed_generation: Count | None = None
    """The spec generation this status reflects."""
    conditions: Conditions = ()
    """`Admitted`, `Running`, `Accepted`, `Degraded`, `LoadKnown`, `AbleToScale`, `MeetsDeadline`,
    `PowerCapped` and `Failed`."""
    reason: Word = ""
    """The last decision in one word, as in events and metrics."""
    message: Message = ""
    """The last decision in a sentence, with numbers of what a waiting job lacks."""
    placement: InferencePlacement | None = None
    """Where the job runs; without it, the job has no pods."""
    admission: Admission | None = None
    """What it was admitted with, while it has a place."""
    revision: Count = 0
    """Last placement revision; it outlives the placement."""
    roles: Annotated[tuple[RoleStatus, ...], Field(max_length=8), keyed_by("name")] = ()
    """Wanted and ready replicas by role."""
    target: TargetStatus | None = None
    """What Plimsoll sets on the workload of `targetRef`."""
    power: Annotated[tuple[RolePower, ...], Field(max_length=MOST_ROLES), ATOMIC] = ()
    """Expected and measured GPU power by role. Plans use the measured one."""
    replicas: Count = 0
    """Replicas of the first role; read by `/scale`."""
    ready_summary: Word = ""
    """Ready and wanted replicas of each role, such as `2/3`."""
    selector: Annotated[str, Field(max_length=1024)] = ""
    """The first role's label selector; read by `/scale`."""
    nodes_summary: Message = ""
    """Nodes in short."""
    accelerators_summary: Message = ""
    """GPU types in use in short."""
    load: LoadStatus | None = None
    """Load of the first role."""
    backlog: BacklogStatus | None = None
    """Work left by `load.deadline`, if set."""
    slo_attainment_percent: Quantity | None = None
    """Share of requests that met the service level."""
    cost_per_hour: Quantity | None = None
    """Hourly cost of the GPUs in use."""
    disruption_times: Annotated[tuple[Timestamp, ...], Field(max_length=256), ATOMIC] = ()
    """Disruptions by plans within 24 hours, apart from effects of user edits."""
    avoided_nodes: AvoidedNodes = ()
    """Nodes that refused the job's pods."""
    refusals: Count = 0
    """Consecutive times the job's pods were rejected by the API server or not ready in time."""
    admitted_time: Timestamp | None = None
    """When the placement was decided."""
    started_time: Timestamp | None = None
    """When all its wanted replicas were first ready."""


class InferenceJob(Resource):
    """Replicas of one or several roles that serve a load on any of several GPU types."""

    model_config = cel_rules(JOB_NAME)

    definition: ClassVar[Definition] = Definition(
        kind="InferenceJob",
        plural="inferencejobs",
        short_name="ij",
        namespaced=True,
        categories=("all", "plimsoll"),
        selectable=(".spec.queue",),
        scale=Scale(".spec.replicas", ".status.replicas", ".status.selector"),
        columns=(
            Column("Queue", ".spec.queue"),
            Column("Status", ".status.reason"),
            Column("Ready", ".status.readySummary"),
            Column("GPU", ".status.acceleratorsSummary"),
            Column("Nodes", ".status.nodesSummary"),
            Column("SLO%", ".status.sloAttainmentPercent"),
            AGE,
            Column("Priority", ".spec.priorityClassName", priority=1),
            Column("Load", ".status.load.observed", priority=1),
            Column("Cost/h", ".status.costPerHour", priority=1),
            Column("Message", ".status.message", priority=1),
        ),
    )

    kind: Literal["InferenceJob"] = "InferenceJob"
    spec: InferenceJobSpec
    """The desired state."""
    status: InferenceJobStatus = InferenceJobStatus()
    """The observed state."""

    @model_validator(mode="after")
    def _can_name_pods(self) -> Self:
        require_job_name(self.metadata.name)
        return self
