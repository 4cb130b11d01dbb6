"""The InferenceJob: roles of replicas that serve a load within an objective."""

from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from plimsoll.api.definition import AGE, Column, Definition, Scale
from plimsoll.api.model import ApiModel
from plimsoll.api.parts.conditions import Conditions
from plimsoll.api.parts.load import EACH_ROLE, Load, Scaling, ServiceLevel
from plimsoll.api.parts.placement import (
    JOB_NAME,
    QUEUE_STAYS,
    UNLESS_SUSPENDED,
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
    "needs either roles, whose pods are made, or targetRef, an existing workload, and not both",
)
_PINNED_WITHIN: Final = Rule(
    "!has(self.replicas) || (has(self.targetRef) ? self.targetRef.replicas.min <= self.replicas"
    " && self.replicas <= self.targetRef.replicas.max : !has(self.roles) || self.roles.size() == 0"
    " || self.roles[0].replicas.min <= self.replicas"
    " && self.replicas <= self.roles[0].replicas.max)",
    "must lie within replicas.min and replicas.max of the first role or of targetRef:"
    " widen these first",
    ".replicas",
)
_QUERIES_OF_ROLES: Final = Rule(
    "!has(self.load) || !has(self.load.queries) || self.load.queries.all(q, q.role == '*' ||"
    " has(self.roles) && self.roles.exists(r, r.name == q.role))",
    "asks for a role that is not in spec.roles: name one of them, or leave role out",
    ".load.queries",
)
_TARGET_STAYS: Final = Rule(
    UNLESS_SUSPENDED + "(has(self.targetRef) ? has(oldSelf.targetRef)"
    " && self.targetRef.apiVersion == oldSelf.targetRef.apiVersion"
    " && self.targetRef.kind == oldSelf.targetRef.kind"
    " && self.targetRef.name == oldSelf.targetRef.name : !has(oldSelf.targetRef))",
    "may change only while the job is suspended: set suspend to true first",
    ".targetRef",
)


class InferenceJobSpec(ApiModel):
    """What the user wants: `roles` whose pods Plimsoll makes, or a `targetRef`."""

    model_config = cel_rules(
        _ROLES_OR_TARGET, _PINNED_WITHIN, _QUERIES_OF_ROLES, QUEUE_STAYS, _TARGET_STAYS
    )

    queue: ResourceName = "default"
    """The JobQueue whose share the job uses."""
    priority_class_name: ResourceName | None = None
    """The PriorityClass; jobs of a higher one go first and may preempt. Default: the cluster's."""
    suspend: bool = False
    """Whether the job gives up its place until this is false again."""
    replicas: ReplicaCount | None = None
    """A fixed count for the first role, as `kubectl scale`, an HPA or KEDA set it. Without it
    the plan chooses between the role's `min` and `max`."""
    roles: Annotated[tuple[Role, ...], Field(max_length=8), keyed_by("name")] = ()
    """The kinds of pod that serve together."""
    target_ref: TargetRef | None = None
    """An existing workload to place and scale, instead of `roles`."""
    load: Load = Load()
    """How the load is measured and foreseen."""
    slo: ServiceLevel = ServiceLevel()
    """What requests are promised."""
    scaling: Scaling = Scaling()
    """How fast the replicas follow the load."""

    @model_validator(mode="after")
    def _hold_together(self) -> Self:
        _ROLES_OR_TARGET.require(holds=bool(self.roles) != (self.target_ref is not None))
        bounds = self.target_ref.replicas if self.target_ref else self.roles[0].replicas
        pinned = bounds.min if self.replicas is None else self.replicas
        _PINNED_WITHIN.require(holds=bounds.min <= pinned <= bounds.max)
        asked = {query.role for query in self.load.queries} - {EACH_ROLE}
        _QUERIES_OF_ROLES.require(holds=asked <= {role.name for role in self.roles})
        return self


class InferencePlacement(ApiModel):
    """Where the job runs, as the plan in force says; its pods follow from it."""

    revision: Count
    """Counts up with each change of place or size."""
    generation: Count | None = None
    """The generation of the spec that it was decided for."""
    assignments: Annotated[tuple[Assignment, ...], Field(max_length=4096), ATOMIC] = ()
    """The nodes of each replica of each role."""


class PoolReplicas(ApiModel):
    """A role's replicas of one GPU type in one pool."""

    pool: Word
    """The GPUPool."""
    accelerator_type: Word
    """The GPU type."""
    wanted: Count = 0
    """How many replicas the plan puts there."""
    ready: Count = 0
    """How many of them are ready."""


class LoadStatus(ApiModel):
    """The load, in the unit of the profiles."""

    observed: Quantity | None = None
    """As measured of late."""
    forecast: Quantity | None = None
    """As foreseen within the horizon, at its quantile."""


class BucketLoad(LoadStatus):
    """The load of requests of some sizes, and what there is to be room for."""

    bucket: Word
    """The sizes, as the load's queries and the profiles name them; `any`: all."""
    wanted: Quantity
    """What the replicas are to carry: the forecast, after what `scaling` says."""
    since: Timestamp
    """Since when that much is wanted."""
    size_group: Word | None = None
    """Where requests go by size: which replicas carry it, by the GPU type that is cheapest for it;
    without it: all."""


class MeasuredCapacity(ApiModel):
    """What a replica was seen to carry within the objective."""

    type: LabelValue
    """The GPU type."""
    bucket: Word
    """The request sizes that this holds for."""
    load: Quantity
    """What one replica carries, in the unit of the profiles."""
    seconds: Count
    """For how long that was measured. The longer, the less a new measurement changes it."""


class RoleStatus(ApiModel):
    """How many replicas a role has."""

    name: Word
    """The role's name."""
    wanted: Count = 0
    """How many replicas the load, or a fixed count, asks for."""
    ready: Count = 0
    """How many are ready."""
    pools: Annotated[tuple[PoolReplicas, ...], Field(max_length=64), ATOMIC] = ()
    """Where they are; a pool without one GPU type of its own may stand here once for each."""
    draining: Count = 0
    """How many replicas answer the last of their requests before they go."""
    loads: Annotated[tuple[BucketLoad, ...], Field(max_length=64), keyed_by("bucket")] = ()
    """The load of this role by request size. It outlives a restart: nothing else decides how many
    replicas there are."""
    measured: Annotated[
        tuple[MeasuredCapacity, ...], Field(max_length=64), keyed_by("type", "bucket")
    ] = ()
    """What replicas of this role were seen to carry; corrects the profiles."""


class BacklogStatus(ApiModel):
    """Offline inference: what is left to do by `load.deadline`."""

    left: Quantity
    """What is left, in the unit of the `Backlog` query."""
    expected_completion: Timestamp | None = None
    """When the replicas that have a place are done with it."""
    late_by: Duration | None = None
    """How long after the deadline that is; without it it is in time."""


class TargetStatus(ApiModel):
    """What the workload of `targetRef` is told."""

    replicas: Count
    """How many replicas it is to have."""
    reached: bool = False
    """Whether it was seen with that count."""
    found: Count
    """How many it had when the job first saw it; as many are wanted while no load is known."""
    overridden_times: Annotated[tuple[Timestamp, ...], Field(max_length=16), ATOMIC] = ()
    """When somebody else set another count of late."""


class InferenceJobStatus(ApiModel):
    """What Plimsoll has made of it. All that outlives a restart of the operator is here."""

    observed_generation: Count | None = None
    """The generation of the spec that this status speaks of."""
    conditions: Conditions = ()
    """`Admitted`, `Running`, `Accepted`, `Degraded`, `LoadKnown`, `AbleToScale`, `MeetsDeadline`,
    `PowerCapped`, `Failed`."""
    reason: Word = ""
    """The last decision in one word, as in events and metrics."""
    message: Message = ""
    """The last decision in a sentence; for a waiting job what it lacks, in numbers."""
    placement: InferencePlacement | None = None
    """Where the job runs. Without it the job has no pods."""
    admission: Admission | None = None
    """What it was admitted with, while it has a place."""
    revision: Count = 0
    """The last revision given to a placement; it outlives the placement."""
    roles: Annotated[tuple[RoleStatus, ...], Field(max_length=8), keyed_by("name")] = ()
    """Wanted and ready replicas, role by role."""
    target: TargetStatus | None = None
    """What the workload of `targetRef` is told; without it nothing yet."""
    power: Annotated[tuple[RolePower, ...], Field(max_length=MOST_ROLES), ATOMIC] = ()
    """What the GPUs of each role draw, as expected and as measured. Plans count with the latter."""
    replicas: Count = 0
    """How many replicas the first role has; read by `/scale`."""
    ready_summary: Word = ""
    """Ready and wanted replicas of each role in short, for people, such as `2/3`."""
    selector: Annotated[str, Field(max_length=1024)] = ""
    """The label selector of the first role's pods; read by `/scale`."""
    nodes_summary: Message = ""
    """The nodes in short, for people."""
    accelerators_summary: Message = ""
    """The GPU types in use in short, for people."""
    load: LoadStatus | None = None
    """The load of the first role."""
    backlog: BacklogStatus | None = None
    """What is left to do by the deadline of the load, if it has one."""
    slo_attainment_percent: Quantity | None = None
    """The share of requests that got what is promised."""
    cost_per_hour: Quantity | None = None
    """What the GPUs in use cost an hour."""
    disruption_times: Annotated[tuple[Timestamp, ...], Field(max_length=256), ATOMIC] = ()
    """When the plan disturbed the job, within the last 24 hours. What its user brought about by
    editing it does not count."""
    avoided_nodes: AvoidedNodes = ()
    """Nodes that refused the job's pods."""
    refusals: Count = 0
    """How many times in a row the API server has not taken the job's pods, or they were not ready
    in time."""
    admitted_time: Timestamp | None = None
    """When the placement in force was decided."""
    started_time: Timestamp | None = None
    """When all wanted replicas of the placement in force were first ready."""


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
    """What the user wants."""
    status: InferenceJobStatus = InferenceJobStatus()
    """What Plimsoll has made of it."""

    @model_validator(mode="after")
    def _can_name_pods(self) -> Self:
        require_job_name(self.metadata.name)
        return self
