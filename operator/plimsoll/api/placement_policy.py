"""The PlacementPolicy: what plans optimise, and whether they are acted on."""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from plimsoll.api.definition import AGE, Column, Definition
from plimsoll.api.model import ApiModel
from plimsoll.api.parts.conditions import Conditions
from plimsoll.api.parts.pods_ready import WaitForPodsReady
from plimsoll.api.parts.provisioning.purchasing import Purchasing
from plimsoll.api.parts.unreachable_nodes import UnreachableNodes
from plimsoll.api.resource import Resource
from plimsoll.api.schema_marks import ATOMIC, Rule, cel_rules, checked
from plimsoll.api.values.amounts import (
    INT_OR_STRING,
    Duration,
    PositiveDuration,
    PositiveQuantity,
    Quantity,
)
from plimsoll.api.values.scalars import Count, Message, Percent, PromQL, Timestamp, Word

Preset = Literal["Balanced", "Throughput", "Completion", "Economy", "Energy"]


_SOME_AIM: Final = Rule(
    "[self.usefulWork, self.money, self.energy].exists(weight,"
    " quantity(string(weight)).isGreaterThan(quantity('0')))",
    "must not all be 0: give usefulWork, money or energy a weight",
)
_WITHIN_A_DAY: Final = Rule(
    "duration(self.window) <= duration('24h')",
    "must be at most 24h",
    ".window",
)
_NUMBER_OR_SHARE: Final = Rule(
    "type(self) == int ? self >= 0 : string(self).matches('^([0-9]|[1-9][0-9]|100)%$')",
    "must be a number of jobs such as 5, or a share from '0%' to '100%'",
)
_SOME_MOST: Final = Rule(
    "has(self.maxJobs) || has(self.maxLostPercent)",
    "must have maxJobs, maxLostPercent or both: without them it limits nothing",
)
_TIME_TO_THINK: Final = Rule(
    "duration(self.timeLimit) <= duration('60s')",
    "must be at most 60s",
    ".timeLimit",
)
_OUTLIVES_EVIDENCE: Final = Rule(
    "duration(self.period) >= duration(self.within)",
    "must be at least within: otherwise the same failures re-quarantine the node",
    ".period",
)
_THE_ONE: Final = Rule(
    "self.metadata.name == 'default'",
    "metadata.name must be default: one policy applies to the whole cluster",
)


def _number_or_share(value: int | str) -> int | str:
    share = str(value).removesuffix("%") if isinstance(value, str) else "0"
    number = 0 if isinstance(value, str) else value
    in_percent = isinstance(value, int) or value.endswith("%")
    fits = share.isdecimal() and int(share) <= 100 and number >= 0  # noqa: PLR2004 - percent
    _NUMBER_OR_SHARE.require(holds=in_percent and fits)
    return value


class Weights(ApiModel):
    """Relative weights of the aims."""

    model_config = cel_rules(_SOME_AIM)

    useful_work: Quantity = Decimal(1)
    """Weight of training done and load served."""
    money: Quantity = Decimal(1)
    """Weight of the price of GPUs in use."""
    energy: Quantity = Decimal(1)
    """Weight of the power GPUs draw."""

    @model_validator(mode="after")
    def _some_aim(self) -> Self:
        _SOME_AIM.require(holds=any((self.useful_work, self.money, self.energy)))
        return self


class EnergySignal(ApiModel):
    """A measure of how much energy matters right now."""

    query: PromQL
    """PromQL returning one series: the carbon intensity or price of a kilowatt-hour, or anything
    that doubles when energy should count twice."""
    usual: PositiveQuantity
    """Value, in the query's unit, at which energy counts by its weight alone."""


class Objective(ApiModel):
    """What plans optimise."""

    preset: Preset = "Balanced"
    """Preset weights: `Throughput` does the most work, `Economy` the most for the money, `Energy`
    the most for the power, `Balanced` a little of each. Under `Economy` training jobs with a
    deadline also wait for cheaper spot capacity. `Completion` minimises training jobs' mean
    time from submission to completion: elastic jobs share GPUs, those with little work left go
    first, and changes must pay back soon."""
    weights: Weights | None = None
    """Custom weights that replace the preset's."""
    energy_signal: EnergySignal | None = None
    """Scales energy's weight from a tenth to ten times as the grid gets dirtier or dearer; with a
    preset, to at most a weight of 50."""


class Planning(ApiModel):
    """Limits on the search for a plan. Plans are made whenever something changes."""

    model_config = cel_rules(_TIME_TO_THINK)

    time_limit: PositiveDuration = timedelta(seconds=2)
    """How long to search for a better plan; a first plan is immediate."""
    workers: Annotated[int, Field(ge=1, le=16)] = 1
    """Cores for the search. For a given number, plans are deterministic."""

    @model_validator(mode="after")
    def _is_bounded(self) -> Self:
        _TIME_TO_THINK.require(holds=self.time_limit <= timedelta(seconds=60))
        return self


class DisruptionBudget(ApiModel):
    """How many running jobs plans may disrupt within a window, or how much work that may cost."""

    model_config = cel_rules(_WITHIN_A_DAY, _SOME_MOST)

    window: PositiveDuration
    """Sliding window, up to `24h`."""
    max_jobs: (
        Annotated[
            int | str,
            AfterValidator(_number_or_share),
            WithJsonSchema(checked(INT_OR_STRING, _NUMBER_OR_SHARE)),
        ]
        | None
    ) = None
    """Most jobs moved, resized or preempted per window: a number, or a share of running jobs such
    as `10%`."""
    max_lost_percent: Percent | None = None
    """Most work of training jobs thrown away by moves and preemptions per window: a share of what
    all GPUs could do in it, but at least what one could. Guarantees, and what higher priorities
    gain, go beyond it; resizes have only their price."""

    @model_validator(mode="after")
    def _within_a_day(self) -> Self:
        _WITHIN_A_DAY.require(holds=self.window <= timedelta(hours=24))
        return self

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        _SOME_MOST.require(holds=self.max_jobs is not None or self.max_lost_percent is not None)
        return self


class DisruptionPrice(ApiModel):
    """What a change must gain to be worth the work it throws away.

    A job that is moved, resized or preempted loses its work since the last checkpoint, and the time
    it takes to stop and start. Unsaved work is never spent on jobs of lower priority.
    """

    break_even: Annotated[Quantity, Field(le=1000)] = Decimal(1)
    """Useful work a change must gain, as a multiple of what it throws away; `0`: any gain will
    do."""
    horizon: PositiveDuration = timedelta(hours=1)
    """How long gains are counted."""
    priority_grace: Duration = timedelta(hours=1)
    """How long a job waits for room, or a service for replicas, before jobs of lower priority are
    preempted whatever they lose; `0s`: at once."""


class Quarantine(ApiModel):
    """When a node is considered faulty, and how long it stays unused."""

    model_config = cel_rules(_OUTLIVES_EVIDENCE)

    failures: Annotated[int, Field(ge=0, le=100)] = 3
    """Worker failures on a node, from at least two jobs, that quarantine it; 0: never.
    Out-of-memory failures do not count."""
    distinct_namespaces: Annotated[int, Field(ge=1, le=16)] = 2
    """Namespaces that these jobs must span. With 1, anyone who can create jobs in one namespace can
    get nodes quarantined: use it only if all tenants trust each other."""
    within: PositiveDuration = timedelta(hours=1)
    """How long failures count."""
    gpu_faults: bool = True
    """Whether a GPU hardware error seen in Prometheus quarantines its node at once."""
    period: PositiveDuration = timedelta(hours=1)
    """How long the node keeps the taint `plimsoll.dev/quarantine` before it is tried again."""
    max_nodes_percent: Percent = 10
    """Largest share of nodes in quarantine at a time, but at least one node: failures everywhere
    are not the nodes' fault."""

    @model_validator(mode="after")
    def _outlives_evidence(self) -> Self:
        _OUTLIVES_EVIDENCE.require(holds=self.period >= self.within)
        return self


class Fairness(ApiModel):
    """How much past use counts between queues."""

    usage_half_life: Duration = timedelta(days=7)
    """Half-life of past usage. Among waiting queues, the one furthest below its fair share goes
    first; `0s` ignores the past."""


class Stragglers(ApiModel):
    """When a worker counts as a straggler, and how often its gang is moved.

    Workers must report their compute time per step.
    """

    slower_percent: Annotated[int, Field(ge=0, le=10_000)] = 25
    """How much longer than the gang's median a straggler computes per step; 0: no detection. Below
    25, noise counts too."""
    after: PositiveDuration = timedelta(minutes=5)
    """How long it must be that slow without a break."""
    interval: PositiveDuration = timedelta(hours=1)
    """At most one job is moved per interval."""
    avoid: PositiveDuration = timedelta(hours=6)
    """How long the job is kept off the node it left."""


class Capping(ApiModel):
    """How far plans rely on GPU power caps to fit more jobs into a power budget."""

    max_loss_percent: Annotated[int, Field(ge=0, le=50)] = 0
    """Speed that jobs may lose to planned caps. With 0, caps only respond to draw."""
    below_priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] = 1
    """Only jobs of lower priority are capped this way."""


class Reservation(ApiModel):
    """When nodes are kept free for a waiting training job.

    Otherwise a large job may never fit while small jobs of its priority keep coming.
    """

    after: Duration = timedelta(0)
    """How long the most urgent job waits, such as `6h`, before nodes are kept free for it: jobs no
    more urgent start there only if their `work` will finish in time. `0s`: never."""


class PlacementPolicySpec(ApiModel):
    """How plans are made."""

    mode: Literal["Enforce", "Advise"] = "Enforce"
    """`Enforce` acts on plans. `Advise` only publishes them in the status."""
    objective: Objective = Objective()
    """What plans optimise."""
    planning: Planning = Planning()
    """Limits on the search for a plan. Plans are made whenever something changes."""
    disruption_budgets: Annotated[tuple[DisruptionBudget, ...], Field(max_length=8), ATOMIC] = (
        DisruptionBudget(window=timedelta(hours=1), max_lost_percent=5),
    )
    """How many running jobs plans may disrupt, and at what cost; every budget applies. Spot
    notices, faults, power and user edits do not count. `[]`: no limit."""
    disruption_price: DisruptionPrice = DisruptionPrice()
    """What a change must gain to be worth the work it throws away."""
    guarantee_grace: Duration = timedelta(minutes=10)
    """How long a job waits for its queue's guarantee before `disruption` and PodDisruptionBudgets
    stop protecting jobs that exceed their own queues' guarantees."""
    fairness: Fairness = Fairness()
    """How much past use counts between queues."""
    quarantine: Quarantine = Quarantine()
    """When a node is considered faulty."""
    stragglers: Stragglers = Stragglers()
    """When a worker counts as a straggler."""
    capping: Capping = Capping()
    """How far plans rely on GPU power caps."""
    reservation: Reservation = Reservation()
    """When nodes are kept free for a waiting training job."""
    purchasing: Purchasing = Purchasing()
    """How much nodes may cost that are bought for jobs that wait; see `provisioning` of GPUPool."""
    wait_for_pods_ready: WaitForPodsReady = WaitForPodsReady()
    """How long pods may take to start."""
    unreachable_nodes: UnreachableNodes = UnreachableNodes()
    """What happens to workers on unreachable nodes."""
    max_jobs_per_namespace: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Most jobs planned for per namespace: running jobs, then the most important and oldest. The
    rest wait with reason `TooManyJobs`. Finished and suspended jobs do not count. See `maxJobs` of
    JobQueue. Default: any number of running jobs and 5,000 waiting ones at a time."""


class PlannedAction(ApiModel):
    """What the plan does with one job."""

    job: Word
    """The job, as `kind/namespace/name`."""
    action: Word
    """`Admit`, `Resize`, `Migrate`, `Preempt` or `Hold`."""
    reason: Word = ""
    """Why, in one word."""
    message: Message = ""
    """Why and where, in a sentence."""


class PlanSummary(ApiModel):
    """The last plan in numbers."""

    time: Timestamp
    """When it was made."""
    gap_percent: Quantity | None = None
    """Upper bound on the distance from the best plan."""
    admitted: Count = 0
    """Jobs with a place."""
    held: Count = 0
    """Jobs that wait."""
    actions: Count = 0
    """Actions other than `Hold`."""


class EnergyCount(ApiModel):
    """How much energy counts, as measured."""

    factor: Quantity
    """Multiple of its weight, in steps of 25 %."""
    observed_time: Timestamp
    """When it was measured. After 15 minutes without a measurement the factor is 1."""


class PlacementPolicyStatus(ApiModel):
    """The last plan."""

    observed_generation: Count | None = None
    """The spec generation this status reflects."""
    conditions: Conditions = ()
    """`Planned`: plans are made and valid. `EnergySignalMeasured`: `energySignal` has a value.

    `LedgerCurrent`: the console's ledger has all that was used up to the last minutes.
    """
    last_plan: PlanSummary | None = None
    """The last plan in numbers."""
    energy: EnergyCount | None = None
    """How much energy counts by `energySignal`."""
    actions: Annotated[tuple[PlannedAction, ...], Field(max_length=512), ATOMIC] = ()
    """In `Advise` mode, the first 512 actions of the last plan."""


class PlacementPolicy(Resource):
    """What plans optimise, and whether they are acted on; only the one named `default` applies."""

    model_config = cel_rules(_THE_ONE)

    definition: ClassVar[Definition] = Definition(
        kind="PlacementPolicy",
        plural="placementpolicies",
        short_name="pp",
        columns=(
            Column("Mode", ".spec.mode"),
            Column("Objective", ".spec.objective.preset"),
            Column("Admitted", ".status.lastPlan.admitted", "integer"),
            Column("Held", ".status.lastPlan.held", "integer"),
            Column("Gap%", ".status.lastPlan.gapPercent"),
            Column("Planned", ".status.lastPlan.time", "date"),
            AGE,
        ),
    )

    kind: Literal["PlacementPolicy"] = "PlacementPolicy"
    spec: PlacementPolicySpec = PlacementPolicySpec()
    """How plans are made."""
    status: PlacementPolicyStatus = PlacementPolicyStatus()
    """The last plan."""

    @model_validator(mode="after")
    def _is_the_one(self) -> Self:
        _THE_ONE.require(holds=self.metadata.name == "default")
        return self
