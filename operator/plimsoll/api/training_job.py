"""The TrainingJob: a gang of workers that does a given amount of work and ends."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from plimsoll.api.definition import AGE, Column, Definition, Scale
from plimsoll.api.model import KEEPS_UNKNOWN, ApiModel
from plimsoll.api.parts.batch import BATCH_STAYS, SAMPLES_ARE_COUNTED, Batch, PlacedBatch
from plimsoll.api.parts.conditions import Conditions
from plimsoll.api.parts.disruption import LostWork
from plimsoll.api.parts.gang import MAX_WORKERS, MOST_TYPES, Accelerator, Workers
from plimsoll.api.parts.gang_roles import MOST_ROLES as MOST_GANG_ROLES
from plimsoll.api.parts.gang_roles import WORKER, GangRole, SuccessPolicy
from plimsoll.api.parts.placement import (
    JOB_NAME,
    OR_SUSPENDED,
    QUEUE_STAYS,
    Admission,
    Assignment,
    AvoidedNodes,
    Spot,
    Topology,
    require_job_name,
)
from plimsoll.api.parts.progress import MOST_MEASURED, GpuSpeed, MeasuredRate, Notice, Progress
from plimsoll.api.parts.role_power import MOST_ROLES, RolePower
from plimsoll.api.parts.stragglers import MOST_REPLACED, MOST_SLOW, ReplacedWorker, SlowWorker
from plimsoll.api.parts.workload import WORKLOAD_STAYS, WorkloadRef
from plimsoll.api.resource import Resource
from plimsoll.api.schema_marks import ATOMIC, Rule, cel_rules, keyed_by
from plimsoll.api.values.amounts import Duration, PositiveDuration, PositiveQuantity
from plimsoll.api.values.scalars import Count, Message, Percent, ResourceName, Timestamp, Word

_SHAPE_STAYS: Final = Rule(
    "self.workers.gpusPerWorker == oldSelf.workers.gpusPerWorker" + OR_SUSPENDED,
    "can change only while the job is suspended: set suspend to true first",
    ".workers.gpusPerWorker",
)
# CEL sees no change where one field unknown to the schema replaces another. That does no harm: pods
# keep what they were created with until their next placement.
# CEL fails to compare a template stored under an older schema. That must not block writes of the
# status, so an update that changes the status passes: it changes nothing else. This comes first, as
# it is also the cheapest to find out.
_STATUS_CHANGES: Final = (
    "(has(self.status) ? !has(oldSelf.status) || self.status != oldSelf.status"
    " : has(oldSelf.status))"
)
_TEMPLATE_STAYS: Final = Rule(
    _STATUS_CHANGES + " || oldSelf.spec.suspend || self.spec.suspend"
    " || self.spec.workers.template == oldSelf.spec.workers.template",
    "can change only while the job is suspended: set suspend to true first",
    ".spec.workers.template",
)
_GRACE_FITS_SAVE: Final = Rule(
    "!has(self.workers.template.spec.terminationGracePeriodSeconds) ||"
    " self.workers.template.spec.terminationGracePeriodSeconds >= self.checkpoint.saveSeconds",
    "must be at least checkpoint.saveSeconds (30 if not set), or omitted: otherwise no checkpoint"
    " is saved",
    ".workers.template.spec.terminationGracePeriodSeconds",
)
_MEMORY_CHOOSES_TYPES: Final = Rule(
    "!has(self.workers.minMemoryPerGPU) || !has(self.accelerators)"
    " || self.accelerators.size() == 0",
    "chooses GPU types where accelerators names none: remove one of the two",
    ".workers.minMemoryPerGPU",
)
_ROLES_STAY: Final = Rule(
    _STATUS_CHANGES + " || oldSelf.spec.suspend || self.spec.suspend"
    " || (has(self.spec.roles) ? has(oldSelf.spec.roles) && self.spec.roles == oldSelf.spec.roles"
    " : !has(oldSelf.spec.roles))",
    "can change only while the job is suspended: set suspend to true first",
    ".spec.roles",
)
_SUCCESS_OF_A_ROLE: Final = Rule(
    "!has(self.successPolicy) || !has(self.successPolicy.role)"
    f" || self.successPolicy.role == '{WORKER}'"
    " || (has(self.roles) && self.roles.exists(r, r.name == self.successPolicy.role))",
    f"must be {WORKER}, or the name of one of roles",
    ".successPolicy.role",
)
_ROLES_ARE_OURS: Final = Rule(
    "!has(self.roles) || self.roles.size() == 0 || !has(self.workloadRef)",
    "must be empty: the workload says what its pods are",
    ".roles",
)
_GANG_IS_BOUNDED: Final = Rule(
    "!has(self.roles) || self.roles.size() == 0"
    " || (has(self.workers.max) ? self.workers.max : self.workers.min)"
    " + self.roles.map(r, !has(r.replicas) ? 1 : has(r.replicas.max) ? r.replicas.max"
    f" : has(r.replicas.min) ? r.replicas.min : 1).sum() <= {MAX_WORKERS}",
    f"has, with the workers, more than {MAX_WORKERS} pods: lower workers.max, or the replicas",
    ".roles",
)
_PAUSE_GROWS: Final = Rule(
    "duration(self.initial) <= duration(self.max)",
    "must be at least initial: raise max or lower initial",
    ".max",
)

_CROSSING_IS_FROM_PREFERRED: Final = Rule(
    "!has(self.communicationPercent) || has(self.preferred)",
    "needs preferred, the level that it applies to: set preferred, or omit it",
    ".communicationPercent",
)

MOST_FAILURES: Final = 32


class Work(ApiModel):
    """How much there is to do, and by when."""

    amount: PositiveQuantity
    """Total work, in `unit`."""
    unit: Annotated[str, Field(min_length=1, max_length=63)] = "steps"
    """What is counted, such as `steps`, `samples` or `tokens`."""
    deadline: Timestamp | None = None
    """When the work should be done. Late jobs gain weight; none is stopped."""


class Checkpoint(ApiModel):
    """What a disruption costs: how often the job saves, and how long that takes."""

    interval: PositiveDuration = timedelta(minutes=10)
    """How often the job saves. A failure without notice loses half of this on average."""
    save_seconds: Annotated[int, Field(ge=0, le=86400)] = 30
    """Duration of a save; pods get at least this long after a notice."""
    restore_seconds: Annotated[int, Field(ge=0, le=86400)] = 60
    """Time from starting at a checkpoint until work resumes."""
    location: Annotated[str, Field(max_length=2048)] | None = None
    """Checkpoint location; workers get it as `PLIMSOLL_CHECKPOINT_LOCATION`."""


class Disruption(ApiModel):
    """How often plans may disrupt the job for the sake of others."""

    min_runtime: Duration = timedelta(0)
    """How long the job runs before plans may move, resize or preempt it."""
    max_per_day: Annotated[int, Field(ge=0, le=256)] | None = None
    """Most disruptions within 24 hours; spot notices, faults and power do not count. Default: no
    limit."""


class Backoff(ApiModel):
    """The pause before a failed gang restarts; it doubles with each failure."""

    model_config = cel_rules(_PAUSE_GROWS)

    initial: Duration = timedelta(seconds=10)
    """Pause after the first failure."""
    max: Duration = timedelta(minutes=5)
    """Longest pause."""

    @model_validator(mode="after")
    def _grows(self) -> Self:
        _PAUSE_GROWS.require(holds=self.initial <= self.max)
        return self


class FaultTolerance(ApiModel):
    """How many failures of its own a job survives."""

    max_restarts: Annotated[int, Field(ge=0, le=256)] = 3
    """Restarts after worker failures allowed per `within`; the next failure fails the job."""
    within: PositiveDuration = timedelta(hours=24)
    """How long failures count."""
    backoff: Backoff = Backoff()
    """The pause before each restart."""


class GangTopology(Topology):
    """How close together the workers must or should be, and what distance costs.

    A domain is named by a pool's `topologyKeys` (such as `rack`) or by a node label key.
    """

    model_config = cel_rules(_CROSSING_IS_FROM_PREFERRED)

    communication_percent: Percent | None = None
    """Share of a step spent in all-reduce within one `preferred` domain. With the pools'
    `bandwidthGbps` it determines the loss from spanning several; if either is unset, 10 % of the
    gang's rate."""

    @model_validator(mode="after")
    def _cross_from_preferred(self) -> Self:
        said = self.communication_percent is not None
        _CROSSING_IS_FROM_PREFERRED.require(holds=not said or self.preferred is not None)
        return self


class TrainingJobSpec(ApiModel):
    """The desired state."""

    model_config = cel_rules(
        QUEUE_STAYS,
        _SHAPE_STAYS,
        BATCH_STAYS,
        _GRACE_FITS_SAVE,
        SAMPLES_ARE_COUNTED,
        _MEMORY_CHOOSES_TYPES,
        WORKLOAD_STAYS,
        _SUCCESS_OF_A_ROLE,
        _ROLES_ARE_OURS,
        _GANG_IS_BOUNDED,
    )

    queue: ResourceName = "default"
    """The JobQueue whose share the job uses."""
    priority_class_name: ResourceName | None = None
    """The PriorityClass; higher priorities go first and may preempt. Default: the cluster's."""
    suspend: bool = False
    """Whether the job saves and gives up its place until this is false again."""
    workers: Workers
    """The gang of workers."""
    roles: Annotated[tuple[GangRole, ...], Field(max_length=MOST_GANG_ROLES), keyed_by("name")] = ()
    """What the workers need beside them, such as a launcher or data loaders: all start together or
    none does."""
    success_policy: SuccessPolicy = SuccessPolicy()
    """When the job is done."""
    accelerators: Annotated[
        tuple[Accelerator, ...], Field(max_length=MOST_TYPES), keyed_by("type")
    ] = ()
    """GPU types the job can run on, one at a time. Default: every whole GPU of one vendor that the
    template's selectors and `workers.minMemoryPerGPU` admit, at speeds assumed from published
    figures until workers report."""
    batch: Batch | None = None
    """Samples of a step. Without it, plans ignore batch size."""
    work: Work | None = None
    """Amount of work. Without it, the job is done when all workers have succeeded."""
    checkpoint: Checkpoint = Checkpoint()
    """What a disruption costs."""
    spot: Spot = Spot()
    """Whether workers may use spot capacity."""
    topology: GangTopology = GangTopology()
    """How close together the workers must be."""
    disruption: Disruption = Disruption()
    """How often plans may disrupt the job."""
    fault_tolerance: FaultTolerance = FaultTolerance()
    """How many failures the job survives."""
    workload_ref: WorkloadRef | None = None
    """The adopted workload that the job stands for; set by Plimsoll. That workload's controller
    makes the pods and retries them."""

    @property
    def milli_gpus_by_role(self) -> Mapping[str, int]:
        """GPUs of each pod by role, in thousandths of a device."""
        others = {role.name: role.milli_gpus_per_replica for role in self.roles}
        return {WORKER: self.workers.milli_gpus_per_worker, **others}

    @model_validator(mode="after")
    def _leave_time_to_save(self) -> Self:
        grace = self.workers.template.spec.termination_grace_period_seconds
        _GRACE_FITS_SAVE.require(holds=grace is None or grace >= self.checkpoint.save_seconds)
        return self

    @model_validator(mode="after")
    def _choose_types_once(self) -> Self:
        least = self.workers.min_memory_per_gpu
        _MEMORY_CHOOSES_TYPES.require(holds=least is None or not self.accelerators)
        return self

    @model_validator(mode="after")
    def _name_roles(self) -> Self:
        names = {WORKER, *(role.name for role in self.roles)}
        _SUCCESS_OF_A_ROLE.require(holds=self.success_policy.role in names)
        _ROLES_ARE_OURS.require(holds=self.workload_ref is None or not self.roles)
        pods = self.workers.most + sum(role.replicas.most for role in self.roles)
        _GANG_IS_BOUNDED.require(holds=not self.roles or pods <= MAX_WORKERS)
        return self

    @model_validator(mode="after")
    def _count_samples(self) -> Self:
        grows = self.batch is not None and self.batch.max_size is not None
        holds = not grows or self.work is None or self.work.unit != "steps"
        SAMPLES_ARE_COUNTED.require(holds=holds)
        return self


class TrainingPlacement(ApiModel):
    """Where the job runs under the current plan; its pods follow from it."""

    revision: Count
    """Increases with each change of place or size."""
    generation: Count | None = None
    """Spec generation it was decided for."""
    accelerator_type: Word
    """GPU type of the workers."""
    pool: Word
    """GPUPool of the first worker; `assignments` has the others'."""
    workers: Count
    """Number of workers."""
    batch: PlacedBatch | None = None
    """Batch of a step, if the spec has one."""
    assignments: Annotated[tuple[Assignment, ...], Field(max_length=MAX_WORKERS), ATOMIC] = ()
    """The node of each worker, and of each replica of the other roles."""


class WorkerFailure(ApiModel):
    """A worker failure."""

    node: Word
    """Its node."""
    time: Timestamp
    """When it was seen."""
    message: Message = ""
    """How the worker ended."""


class TrainingJobStatus(ApiModel):
    """The observed state; everything that must survive an operator restart is here."""

    model_config = KEEPS_UNKNOWN

    observed_generation: Count | None = None
    """The spec generation this status reflects."""
    conditions: Conditions = ()
    """`Admitted`, `Running`, `Accepted`, `Degraded`, `PowerCapped`, `Complete` and `Failed`."""
    reason: Word = ""
    """The last decision in one word, as in events and metrics."""
    message: Message = ""
    """The last decision in a sentence, with numbers of what a waiting job lacks."""
    placement: TrainingPlacement | None = None
    """Where the job runs; without it, the job has no pods."""
    admission: Admission | None = None
    """What it was admitted with, while it has a place."""
    revision: Count = 0
    """Last placement revision; it outlives the placement."""
    worker_count: Count = 0
    """Workers running; read by `/scale`."""
    selector: Annotated[str, Field(max_length=1024)] = ""
    """The pods' label selector; read by `/scale`."""
    nodes_summary: Message = ""
    """Nodes in short."""
    progress: Progress | None = None
    """Progress, as workers report it."""
    measured: Annotated[tuple[MeasuredRate, ...], Field(max_length=MOST_MEASURED), ATOMIC] = ()
    """Measured rates by GPU type, worker count and batch."""
    speeds: Annotated[tuple[GpuSpeed, ...], Field(max_length=MOST_TYPES), ATOMIC] = ()
    """Speeds by GPU type as plans use them, if the spec leaves out any."""
    power: Annotated[tuple[RolePower, ...], Field(max_length=MOST_ROLES), ATOMIC] = ()
    """Expected and measured GPU power. Plans use the measured one."""
    notice: Notice | None = None
    """What workers are told before a disruption."""
    expected_completion: Timestamp | None = None
    """When the work will be done at the current rate."""
    restarts: Count = 0
    """Total restarts after failures."""
    restart_times: Annotated[tuple[Timestamp, ...], Field(max_length=256), ATOMIC] = ()
    """Restarts within `faultTolerance.within`."""
    failures: Annotated[tuple[WorkerFailure, ...], Field(max_length=MOST_FAILURES), ATOMIC] = ()
    """Worker failures within 24 hours, to judge nodes by."""
    next_restart_time: Timestamp | None = None
    """When a failed gang restarts."""
    disruption_times: Annotated[tuple[Timestamp, ...], Field(max_length=256), ATOMIC] = ()
    """Disruptions by plans within 24 hours, apart from effects of user edits."""
    lost_work: Annotated[tuple[LostWork, ...], Field(max_length=256), ATOMIC] = ()
    """What these disruptions threw away, apart from resizes and preemption by higher priorities."""
    avoided_nodes: AvoidedNodes = ()
    """Nodes that refused the job's pods."""
    refusals: Count = 0
    """Consecutive times the job's pods were rejected by the API server or not ready in time."""
    slow_workers: Annotated[tuple[SlowWorker, ...], Field(max_length=MOST_SLOW), ATOMIC] = ()
    """Stragglers of the current gang, slowest first."""
    replaced_workers: Annotated[
        tuple[ReplacedWorker, ...], Field(max_length=MOST_REPLACED), ATOMIC
    ] = ()
    """Stragglers for which the gang moved within the last week."""
    admitted_time: Timestamp | None = None
    """When the placement was decided."""
    started_time: Timestamp | None = None
    """When all its workers were ready."""
    finished_time: Timestamp | None = None
    """When the job completed or finally failed."""


class TrainingJob(Resource):
    """A gang of workers that trains a model on any of several GPU types, and then ends."""

    model_config = cel_rules(JOB_NAME, _TEMPLATE_STAYS, _ROLES_STAY)

    definition: ClassVar[Definition] = Definition(
        kind="TrainingJob",
        plural="trainingjobs",
        short_name="tj",
        namespaced=True,
        categories=("all", "plimsoll"),
        selectable=(".spec.queue",),
        scale=Scale(".spec.workers.min", ".status.workerCount", ".status.selector"),
        columns=(
            Column("Queue", ".spec.queue"),
            Column("Status", ".status.reason"),
            Column("Workers", ".status.workerCount", "integer"),
            Column("GPU", ".status.placement.acceleratorType"),
            Column("Nodes", ".status.nodesSummary"),
            Column("Done%", ".status.progress.percent", "integer"),
            AGE,
            Column("Priority", ".spec.priorityClassName", priority=1),
            Column("Restarts", ".status.restarts", "integer", 1),
            Column("Completion", ".status.expectedCompletion", priority=1),
            Column("Message", ".status.message", priority=1),
        ),
    )

    kind: Literal["TrainingJob"] = "TrainingJob"
    spec: TrainingJobSpec
    """The desired state."""
    status: TrainingJobStatus = TrainingJobStatus()
    """The observed state."""

    @model_validator(mode="after")
    def _can_name_pods(self) -> Self:
        require_job_name(self.metadata.name)
        return self
