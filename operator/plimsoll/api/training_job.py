"""The TrainingJob: a gang of workers that does a given amount of work and ends."""

from datetime import timedelta
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from plimsoll.api.definition import AGE, Column, Definition, Scale
from plimsoll.api.model import ApiModel
from plimsoll.api.parts.batch import BATCH_STAYS, SAMPLES_ARE_COUNTED, Batch, PlacedBatch
from plimsoll.api.parts.conditions import Conditions
from plimsoll.api.parts.gang import MAX_WORKERS, Accelerator, Workers
from plimsoll.api.parts.placement import (
    JOB_NAME,
    QUEUE_STAYS,
    UNLESS_SUSPENDED,
    Admission,
    Assignment,
    AvoidedNodes,
    Spot,
    Topology,
    require_job_name,
)
from plimsoll.api.parts.progress import MOST_MEASURED, MeasuredRate, Notice, Progress
from plimsoll.api.parts.role_power import MOST_ROLES, RolePower
from plimsoll.api.parts.stragglers import MOST_REPLACED, MOST_SLOW, ReplacedWorker, SlowWorker
from plimsoll.api.resource import Resource
from plimsoll.api.schema_marks import ATOMIC, Rule, cel_rules, keyed_by
from plimsoll.api.values.amounts import Duration, PositiveDuration, PositiveQuantity
from plimsoll.api.values.scalars import Count, Message, Percent, ResourceName, Timestamp, Word

_SHAPE_STAYS: Final = Rule(
    UNLESS_SUSPENDED + "self.workers.gpusPerWorker == oldSelf.workers.gpusPerWorker",
    "may change only while the job is suspended: set suspend to true first",
    ".workers.gpusPerWorker",
)
# Where a field that the schema does not name gives way to another one such, CEL sees no change.
# That does no harm: pods keep what they were made with until their next placement.
# A template that was stored before its schema was what it is cannot be compared: CEL fails on it,
# which must keep nobody from writing the status. Only a status is written where one changes.
_TEMPLATE_STAYS: Final = Rule(
    "oldSelf.spec.suspend || self.spec.suspend"
    " || self.spec.workers.template == oldSelf.spec.workers.template"
    " || (has(self.status) ? !has(oldSelf.status) || self.status != oldSelf.status"
    " : has(oldSelf.status))",
    "may change only while the job is suspended: set suspend to true first",
    ".spec.workers.template",
)
_GRACE_FITS_SAVE: Final = Rule(
    "!has(self.workers.template.spec.terminationGracePeriodSeconds) ||"
    " self.workers.template.spec.terminationGracePeriodSeconds >= self.checkpoint.saveSeconds",
    "must be at least checkpoint.saveSeconds, or be left out, for else no checkpoint is saved",
    ".workers.template.spec.terminationGracePeriodSeconds",
)
_PAUSE_GROWS: Final = Rule(
    "duration(self.initial) <= duration(self.max)",
    "must be at least initial: raise max or lower initial",
    ".max",
)

_CROSSING_IS_FROM_PREFERRED: Final = Rule(
    "!has(self.communicationPercent) || has(self.preferred)",
    "says what it costs to leave the preferred domain: name its level in preferred, or leave it"
    " out",
    ".communicationPercent",
)

MOST_FAILURES: Final = 32


class Work(ApiModel):
    """How much there is to do, and by when."""

    amount: PositiveQuantity
    """How many units of work the whole job is."""
    unit: Annotated[str, Field(min_length=1, max_length=63)] = "steps"
    """What is counted, such as `steps`, `samples` or `tokens`."""
    deadline: Timestamp | None = None
    """When the work should be done. Jobs that run late gain weight; none is stopped."""


class Checkpoint(ApiModel):
    """What a disturbance costs: how often the job saves, and how long that takes."""

    interval: PositiveDuration = timedelta(minutes=10)
    """How often the job saves. On average half of it is lost when a job dies without notice."""
    save_seconds: Annotated[int, Field(ge=0, le=86400)] = 30
    """How long one save takes; the pods get at least so long between notice and end."""
    restore_seconds: Annotated[int, Field(ge=0, le=86400)] = 60
    """How long a start from a checkpoint takes until work goes on."""
    location: Annotated[str, Field(max_length=2048)] | None = None
    """Where the checkpoints are; given to the workers as `PLIMSOLL_CHECKPOINT_LOCATION`."""


class Disruption(ApiModel):
    """How often the plan may disturb the job for the good of others."""

    min_runtime: Duration = timedelta(0)
    """How long the job runs at least before the plan moves, resizes or preempts it."""
    max_per_day: Annotated[int, Field(ge=0, le=256)] | None = None
    """How often within 24 hours it may be disturbed. Spot notices, faults and power are apart."""


class Backoff(ApiModel):
    """The pause before a failed gang starts again; it doubles with each failure."""

    model_config = cel_rules(_PAUSE_GROWS)

    initial: Duration = timedelta(seconds=10)
    """The pause after the first failure."""
    max: Duration = timedelta(minutes=5)
    """The longest pause."""

    @model_validator(mode="after")
    def _grows(self) -> Self:
        _PAUSE_GROWS.require(holds=self.initial <= self.max)
        return self


class FaultTolerance(ApiModel):
    """How many failures of its own the job may have before it counts as failed."""

    max_restarts: Annotated[int, Field(ge=0, le=256)] = 3
    """How many times the gang starts again after a worker failed, within the time below."""
    within: PositiveDuration = timedelta(hours=24)
    """The time in which failures count; older ones are forgiven."""
    backoff: Backoff = Backoff()
    """The pause before each new start."""


class GangTopology(Topology):
    """How close together the workers must or should be, and what it costs if they are not.

    A domain is named by a pool's `topologyKeys` (such as `rack`), or by the key of a node label.
    """

    model_config = cel_rules(_CROSSING_IS_FROM_PREFERRED)

    communication_percent: Percent | None = None
    """The share of a step's time that all-reduce takes while the gang is in one domain of the
    preferred level. By it and the pools' `bandwidthGbps` the plan knows what is lost in several
    domains; if either is not said, that is taken to be 10 % of the gang's rate."""

    @model_validator(mode="after")
    def _cross_from_preferred(self) -> Self:
        said = self.communication_percent is not None
        _CROSSING_IS_FROM_PREFERRED.require(holds=not said or self.preferred is not None)
        return self


class TrainingJobSpec(ApiModel):
    """What the user wants."""

    model_config = cel_rules(
        QUEUE_STAYS,
        _SHAPE_STAYS,
        BATCH_STAYS,
        _GRACE_FITS_SAVE,
        SAMPLES_ARE_COUNTED,
    )

    queue: ResourceName = "default"
    """The JobQueue whose share the job uses."""
    priority_class_name: ResourceName | None = None
    """The PriorityClass; jobs of a higher one go first and may preempt. Default: the cluster's."""
    suspend: bool = False
    """Whether the job gives up its place, after a save, until this is false again."""
    workers: Workers
    """The gang of workers."""
    accelerators: Annotated[
        tuple[Accelerator, ...], Field(min_length=1, max_length=16), keyed_by("type")
    ]
    """The GPU types that the job can run on. One run uses one of them."""
    batch: Batch | None = None
    """The samples of a step. Without it they are no concern of the plan."""
    work: Work | None = None
    """How much there is to do. Without it the job is done when all workers have succeeded."""
    checkpoint: Checkpoint = Checkpoint()
    """What a disturbance costs."""
    spot: Spot = Spot()
    """Whether workers may run on spot capacity."""
    topology: GangTopology = GangTopology()
    """How close together the workers are."""
    disruption: Disruption = Disruption()
    """How often the plan may disturb the job."""
    fault_tolerance: FaultTolerance = FaultTolerance()
    """How many failures the job may have."""

    @model_validator(mode="after")
    def _leave_time_to_save(self) -> Self:
        grace = self.workers.template.spec.termination_grace_period_seconds
        _GRACE_FITS_SAVE.require(holds=grace is None or grace >= self.checkpoint.save_seconds)
        return self

    @model_validator(mode="after")
    def _count_samples(self) -> Self:
        grows = self.batch is not None and self.batch.max_size is not None
        holds = not grows or self.work is None or self.work.unit != "steps"
        SAMPLES_ARE_COUNTED.require(holds=holds)
        return self


class TrainingPlacement(ApiModel):
    """Where the job runs, as the plan in force says; its pods follow from it."""

    revision: Count
    """Counts up with each change of place or size."""
    generation: Count | None = None
    """The generation of the spec that it was decided for."""
    accelerator_type: Word
    """The GPU type of all workers."""
    pool: Word
    """The GPUPool of the first worker; the assignments say the pool of each."""
    workers: Count
    """How many workers the gang has."""
    batch: PlacedBatch | None = None
    """The batch of a step, where the spec has one."""
    assignments: Annotated[tuple[Assignment, ...], Field(max_length=MAX_WORKERS), ATOMIC] = ()
    """The node of each worker."""


class WorkerFailure(ApiModel):
    """A worker that failed."""

    node: Word
    """Where."""
    time: Timestamp
    """When that was seen."""
    message: Message = ""
    """How it ended."""


class TrainingJobStatus(ApiModel):
    """What Plimsoll has made of it. All that outlives a restart of the operator is here."""

    observed_generation: Count | None = None
    """The generation of the spec that this status speaks of."""
    conditions: Conditions = ()
    """`Admitted`, `Running`, `Accepted`, `Degraded`, `PowerCapped`, `Complete` and `Failed`."""
    reason: Word = ""
    """The last decision in one word, as in events and metrics."""
    message: Message = ""
    """The last decision in a sentence; for a waiting job what it lacks, in numbers."""
    placement: TrainingPlacement | None = None
    """Where the job runs. Without it the job has no pods."""
    admission: Admission | None = None
    """What it was admitted with, while it has a place."""
    revision: Count = 0
    """The last revision given to a placement; it outlives the placement."""
    worker_count: Count = 0
    """How many workers run; read by `/scale`."""
    selector: Annotated[str, Field(max_length=1024)] = ""
    """The label selector of the job's pods; read by `/scale`."""
    nodes_summary: Message = ""
    """The nodes in short, for people."""
    progress: Progress | None = None
    """How far the job is, by its workers' reports."""
    measured: Annotated[tuple[MeasuredRate, ...], Field(max_length=MOST_MEASURED), ATOMIC] = ()
    """How fast the job was measured to be, by GPU type, worker count and batch."""
    power: Annotated[tuple[RolePower, ...], Field(max_length=MOST_ROLES), ATOMIC] = ()
    """What the workers' GPUs draw, as expected and as measured. Plans count with the latter."""
    notice: Notice | None = None
    """What the workers are told before they are disturbed; none while nothing is ahead."""
    expected_completion: Timestamp | None = None
    """When the work will be done at the present rate."""
    restarts: Count = 0
    """How many times the gang started again after a failure, in all."""
    restart_times: Annotated[tuple[Timestamp, ...], Field(max_length=256), ATOMIC] = ()
    """When it did so, within `faultTolerance.within`."""
    failures: Annotated[tuple[WorkerFailure, ...], Field(max_length=MOST_FAILURES), ATOMIC] = ()
    """Where workers failed within the last 24 hours; nodes are judged by it."""
    next_restart_time: Timestamp | None = None
    """Until when a failed gang pauses before it starts again."""
    disruption_times: Annotated[tuple[Timestamp, ...], Field(max_length=256), ATOMIC] = ()
    """When the plan disturbed the job, within the last 24 hours. What its user brought about by
    editing it does not count."""
    avoided_nodes: AvoidedNodes = ()
    """Nodes that refused the job's pods."""
    refusals: Count = 0
    """How many times in a row the API server has not taken the job's pods, or they were not ready
    in time."""
    slow_workers: Annotated[tuple[SlowWorker, ...], Field(max_length=MOST_SLOW), ATOMIC] = ()
    """The workers of the present gang that are much slower than the others, the slowest first."""
    replaced_workers: Annotated[
        tuple[ReplacedWorker, ...], Field(max_length=MOST_REPLACED), ATOMIC
    ] = ()
    """The stragglers for which the gang was moved within the last week."""
    admitted_time: Timestamp | None = None
    """When the placement in force was decided."""
    started_time: Timestamp | None = None
    """When all workers of the placement in force were ready."""
    finished_time: Timestamp | None = None
    """When the job completed or failed for good."""


class TrainingJob(Resource):
    """A gang of workers that trains a model on any of several GPU types, and then ends."""

    model_config = cel_rules(JOB_NAME, _TEMPLATE_STAYS)

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
    """What the user wants."""
    status: TrainingJobStatus = TrainingJobStatus()
    """What Plimsoll has made of it."""

    @model_validator(mode="after")
    def _can_name_pods(self) -> Self:
        require_job_name(self.metadata.name)
        return self
