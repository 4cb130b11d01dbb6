"""The JobQueue: a team's share of the cluster."""

from decimal import Decimal
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from plimsoll.api.definition import AGE, Column, Definition
from plimsoll.api.model import ApiModel
from plimsoll.api.parts.conditions import Conditions
from plimsoll.api.resource import Resource
from plimsoll.api.schema_marks import ATOMIC, Rule, cel_rules, keyed_by
from plimsoll.api.values.amounts import Duration, Quantity
from plimsoll.api.values.label_selector import LabelSelector
from plimsoll.api.values.scalars import Count, LabelValue, Message, ResourceName, Timestamp, Word

_LIMIT_FROM_GUARANTEED: Final = Rule(
    "!has(self.limit) || !quantity(string(self.guaranteed)).isGreaterThan("
    "quantity(string(self.limit)))",
    "must be at least guaranteed: raise limit or lower guaranteed",
    ".limit",
)
_NOT_ITS_OWN_PARENT: Final = Rule(
    "!has(self.spec) || !has(self.spec.parent) || self.spec.parent != self.metadata.name",
    "must be another queue: name the one above, or leave parent out",
    ".spec.parent",
)


class Quota(ApiModel):
    """The queue's share of one GPU type. A type without a quota is borrowed without limit."""

    model_config = cel_rules(_LIMIT_FROM_GUARANTEED)

    type: LabelValue
    """The GPU type by its product label, such as `NVIDIA-H100-80GB-HBM3`."""
    guaranteed: Quantity = Decimal(0)
    """GPUs that are the queue's own: its jobs get them back whoever uses them. While they are idle
    others may borrow them."""
    limit: Quantity | None = None
    """The most GPUs that the queue uses, its own and borrowed ones. Equal to `guaranteed`, it
    borrows nothing; without it, it borrows all that is idle."""

    @model_validator(mode="after")
    def _hold_together(self) -> Self:
        _LIMIT_FROM_GUARANTEED.require(holds=self.limit is None or self.guaranteed <= self.limit)
        return self


class ProtectionLimits(ApiModel):
    """How far jobs of the queue may keep plans from disturbing them, whatever they ask for."""

    min_runtime: Duration | None = None
    """The longest `disruption.minRuntime` that holds. Without it any does."""
    max_per_day: Annotated[int, Field(ge=0, le=256)] | None = None
    """So often within 24 hours each may be disturbed, though its `disruption.maxPerDay` be less.
    Without it that holds."""
    budgets_for: Duration | None = None
    """For how long after it was given its place PodDisruptionBudgets keep a job there. Without it
    always."""


class JobQueueSpec(ApiModel):
    """The queue's share."""

    parent: ResourceName | None = None
    """The queue that this one is part of; its limits hold for all its parts together."""
    namespace_selector: LabelSelector | None = None
    """The namespaces whose jobs may use the queue, by their labels; each has the label
    `kubernetes.io/metadata.name`. Without it jobs of all namespaces may. Jobs that run
    already keep their places and do not grow."""
    priority_class_names: (
        Annotated[tuple[ResourceName, ...], Field(max_length=64), ATOMIC] | None
    ) = None
    """The PriorityClasses that jobs of the queue may name in `priorityClassName`. Without it they
    may name any; an empty list leaves them the cluster's default. Jobs that run already keep their
    places, at the priority that they were admitted with, and do not grow."""
    disruption: ProtectionLimits = ProtectionLimits()
    """How far jobs of the queue may keep plans from disturbing them, whatever they ask for."""
    weight: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """The queue's share of what is borrowed, beside that of its siblings."""
    quotas: Annotated[tuple[Quota, ...], Field(max_length=64), keyed_by("type")] = ()
    """The queue's share, GPU type by GPU type."""
    max_jobs: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """The most jobs of the queue that are planned for at a time: those that run, then the oldest.
    Others wait with the reason `TooManyJobs`; with 0 the queue takes no new ones. Jobs that are
    over or suspended do not count, nor do those of its parts. Without it there may be any number.
    """


class QuotaUsage(ApiModel):
    """What the queue uses of one GPU type."""

    type: Word
    """The GPU type."""
    used: Quantity = Decimal(0)
    """GPUs that the queue's jobs and those of its parts hold."""
    borrowed: Quantity = Decimal(0)
    """How many of these are beyond its own."""
    average: Quantity = Decimal(0)
    """GPUs that they held on average of late: what was held a half-life ago (`spec.fairness` of the
    policy) counts half."""
    fair_share: Quantity = Decimal(0)
    """GPUs that are its share now, among the queues whose jobs ask for this type."""


class JobQueueStatus(ApiModel):
    """What the queue uses."""

    observed_generation: Count | None = None
    """The generation of the spec that this status speaks of."""
    conditions: Conditions = ()
    """`Active`: jobs of the queue can be admitted."""
    usage: Annotated[tuple[QuotaUsage, ...], Field(max_length=256), keyed_by("type")] = ()
    """What the queue uses, GPU type by GPU type."""
    usage_summary: Message = ""
    """What it uses now in short, for people."""
    average_summary: Message = ""
    """What it used on average in short, for people."""
    counted_until: Timestamp | None = None
    """Until when use is counted in the averages."""
    pending: Count = 0
    """How many of its jobs wait."""
    admitted: Count = 0
    """How many of its jobs have a place."""


class JobQueue(Resource):
    """A team's share of the cluster's GPUs."""

    model_config = cel_rules(_NOT_ITS_OWN_PARENT)

    definition: ClassVar[Definition] = Definition(
        kind="JobQueue",
        plural="jobqueues",
        short_name="jq",
        columns=(
            Column("Parent", ".spec.parent"),
            Column("Weight", ".spec.weight", "integer"),
            Column("Pending", ".status.pending", "integer"),
            Column("Admitted", ".status.admitted", "integer"),
            Column("Usage", ".status.usageSummary"),
            Column("Average", ".status.averageSummary", priority=1),
            AGE,
        ),
    )

    kind: Literal["JobQueue"] = "JobQueue"
    spec: JobQueueSpec = JobQueueSpec()
    """The queue's share."""
    status: JobQueueStatus = JobQueueStatus()
    """What the queue uses."""

    @model_validator(mode="after")
    def _has_another_parent(self) -> Self:
        _NOT_ITS_OWN_PARENT.require(holds=self.spec.parent != self.metadata.name)
        return self
