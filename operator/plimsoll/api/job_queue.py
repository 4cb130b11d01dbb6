"""The JobQueue: a team's share of the cluster."""

from decimal import Decimal
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from plimsoll.api.definition import AGE, Column, Definition
from plimsoll.api.model import ApiModel
from plimsoll.api.parts.conditions import Conditions
from plimsoll.api.parts.provisioning.purchasing import Purchasing
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
    "must be a different queue: name the one above, or omit parent",
    ".spec.parent",
)


class Quota(ApiModel):
    """The queue's share of one GPU type; types without a quota are borrowed without limit."""

    model_config = cel_rules(_LIMIT_FROM_GUARANTEED)

    type: LabelValue
    """GPU type by its product label, such as `NVIDIA-H100-80GB-HBM3`."""
    guaranteed: Quantity = Decimal(0)
    """GPUs the queue owns. Others may borrow them while idle; its jobs get them back."""
    limit: Quantity | None = None
    """Most GPUs the queue may use, owned and borrowed. Equal to `guaranteed`, it forbids borrowing.
    Default: no limit."""

    @model_validator(mode="after")
    def _hold_together(self) -> Self:
        _LIMIT_FROM_GUARANTEED.require(holds=self.limit is None or self.guaranteed <= self.limit)
        return self


class ProtectionLimits(ApiModel):
    """Limits on how far its jobs can protect themselves from disruption."""

    min_runtime: Duration | None = None
    """Longest `disruption.minRuntime` that is honoured. Default: no limit."""
    max_per_day: Annotated[int, Field(ge=0, le=256)] | None = None
    """Disruptions within 24 hours that jobs must accept even if their `disruption.maxPerDay` is
    lower."""
    budgets_for: Duration | None = None
    """How long after placement PodDisruptionBudgets protect a job. Default: always."""


class JobQueueSpec(ApiModel):
    """The queue's share of the cluster."""

    parent: ResourceName | None = None
    """Parent queue, whose limits apply to all its children together."""
    namespace_selector: LabelSelector | None = None
    """Labels of the namespaces whose jobs may use the queue, such as `kubernetes.io/metadata.name`.
    Default: all. Running jobs that no longer match keep their places but do not grow."""
    priority_class_names: (
        Annotated[tuple[ResourceName, ...], Field(max_length=64), ATOMIC] | None
    ) = None
    """PriorityClasses its jobs may name. Default: any; an empty list allows only the cluster's
    default. Running jobs that no longer match keep their places and admitted priority but do not
    grow."""
    disruption: ProtectionLimits = ProtectionLimits()
    """Limits on how far its jobs can protect themselves from disruption."""
    weight: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Share of borrowed GPUs, relative to sibling queues."""
    quotas: Annotated[tuple[Quota, ...], Field(max_length=64), keyed_by("type")] = ()
    """Quotas by GPU type."""
    purchasing: Purchasing = Purchasing()
    """How much may be spent on nodes for its jobs; see `provisioning` of GPUPool."""
    max_jobs: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """Most jobs planned for: running jobs, then the most important and oldest. The rest wait with
    reason `TooManyJobs`; 0 admits no new jobs. Finished and suspended jobs and those of child
    queues do not count. Default: no limit."""


class QuotaUsage(ApiModel):
    """Usage of one GPU type."""

    type: Word
    """GPU type."""
    used: Quantity = Decimal(0)
    """GPUs held by jobs of the queue and its children."""
    borrowed: Quantity = Decimal(0)
    """GPUs held beyond the guarantee."""
    average: Quantity = Decimal(0)
    """Average GPUs held, with the half-life of the policy's `fairness`."""
    fair_share: Quantity = Decimal(0)
    """Current fair share in GPUs, among queues whose jobs request this type."""


class JobQueueStatus(ApiModel):
    """What the queue uses."""

    observed_generation: Count | None = None
    """The spec generation this status reflects."""
    conditions: Conditions = ()
    """`Active`: jobs of the queue can be admitted."""
    usage: Annotated[tuple[QuotaUsage, ...], Field(max_length=256), keyed_by("type")] = ()
    """Usage by GPU type."""
    usage_summary: Message = ""
    """Current usage in short."""
    average_summary: Message = ""
    """Average usage in short."""
    counted_until: Timestamp | None = None
    """Until when the averages are computed."""
    pending: Count = 0
    """Jobs waiting."""
    admitted: Count = 0
    """Jobs with a place."""


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
    """The queue's share of the cluster."""
    status: JobQueueStatus = JobQueueStatus()
    """What the queue uses."""

    @model_validator(mode="after")
    def _has_another_parent(self) -> Self:
        _NOT_ITS_OWN_PARENT.require(holds=self.spec.parent != self.metadata.name)
        return self
