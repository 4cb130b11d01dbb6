"""The PlacementPolicy: what plans aim at, and whether they are acted on."""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from plimsoll.api.definition import AGE, Column, Definition
from plimsoll.api.model import ApiModel
from plimsoll.api.parts.conditions import Conditions
from plimsoll.api.parts.pods_ready import WaitForPodsReady
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
    "must be at most 24h, for longer is not looked back",
    ".window",
)
_NUMBER_OR_SHARE: Final = Rule(
    "type(self) == int ? self >= 0 : string(self).matches('^([0-9]|[1-9][0-9]|100)%$')",
    "must be a number of jobs such as 5, or a share of them from '0%' to '100%'",
)
_TIME_TO_THINK: Final = Rule(
    "duration(self.timeLimit) <= duration('60s')",
    "must be at most 60s: while a plan is made no change is answered",
    ".timeLimit",
)
_OUTLIVES_EVIDENCE: Final = Rule(
    "duration(self.period) >= duration(self.within)",
    "must be at least within, for else the same failures bring the node back into quarantine",
    ".period",
)
_THE_ONE: Final = Rule(
    "self.metadata.name == 'default'",
    "metadata.name must be default: one policy holds for the whole cluster",
)


def _number_or_share(value: int | str) -> int | str:
    share = str(value).removesuffix("%") if isinstance(value, str) else "0"
    number = 0 if isinstance(value, str) else value
    in_percent = isinstance(value, int) or value.endswith("%")
    fits = share.isdecimal() and int(share) <= 100 and number >= 0  # noqa: PLR2004 - percent
    _NUMBER_OR_SHARE.require(holds=in_percent and fits)
    return value


class Weights(ApiModel):
    """How much each aim counts beside the others."""

    model_config = cel_rules(_SOME_AIM)

    useful_work: Quantity = Decimal(1)
    """Of training done and load served."""
    money: Quantity = Decimal(1)
    """Of the price of GPUs in use."""
    energy: Quantity = Decimal(1)
    """Of the power that GPUs draw."""

    @model_validator(mode="after")
    def _some_aim(self) -> Self:
        _SOME_AIM.require(holds=any((self.useful_work, self.money, self.energy)))
        return self


class EnergySignal(ApiModel):
    """What says how much energy matters just now."""

    query: PromQL
    """The PromQL query for it, which gives one series: how much carbon the grid emits for a
    kilowatt-hour, what that costs, or anything else that doubles where energy is to count twice."""
    usual: PositiveQuantity
    """The value at which energy counts as its weight says, in the unit of the query."""


class Objective(ApiModel):
    """What plans aim at."""

    preset: Preset = "Balanced"
    """Weights that fit a purpose: `Throughput` does the most work, `Economy` the most for the
    money, `Energy` the most for the power, `Balanced` a little of each. `Completion` has training
    jobs wait and run for the least time on average: elastic ones share what there is, those with
    little left to do come first, and no change is made that does not soon pay back."""
    weights: Weights | None = None
    """Weights of your own, instead of those of the preset."""
    energy_signal: EnergySignal | None = None
    """Has energy count more while the grid is dirty or dear, and less while it is not: from a tenth
    to ten times its weight, though with a preset never more than a weight of 50 would."""


class Planning(ApiModel):
    """How long it may take to make a plan. One is made whenever something has changed."""

    model_config = cel_rules(_TIME_TO_THINK)

    time_limit: PositiveDuration = timedelta(seconds=2)
    """How long the search for a better plan may take; a first plan is there at once."""
    workers: Annotated[int, Field(ge=1, le=16)] = 1
    """How many cores the search may use. With as many the same cluster gets the same plan."""

    @model_validator(mode="after")
    def _is_bounded(self) -> Self:
        _TIME_TO_THINK.require(holds=self.time_limit <= timedelta(seconds=60))
        return self


class DisruptionBudget(ApiModel):
    """How many running jobs plans may disturb within a time."""

    model_config = cel_rules(_WITHIN_A_DAY)

    window: PositiveDuration
    """The time that is looked back on, up to 24h."""
    max_jobs: Annotated[
        int | str,
        AfterValidator(_number_or_share),
        WithJsonSchema(checked(INT_OR_STRING, _NUMBER_OR_SHARE)),
    ]
    """How many jobs at most are moved, resized or preempted in it: a number, or a share of those
    that run, such as `10%`."""

    @model_validator(mode="after")
    def _within_a_day(self) -> Self:
        _WITHIN_A_DAY.require(holds=self.window <= timedelta(hours=24))
        return self


class Quarantine(ApiModel):
    """When a node is taken to be faulty, and how long nothing runs there then."""

    model_config = cel_rules(_OUTLIVES_EVIDENCE)

    failures: Annotated[int, Field(ge=0, le=100)] = 3
    """How many times workers of at least two jobs fail on a node before it is quarantined; 0:
    never. Workers that ran out of memory do not count."""
    distinct_namespaces: Annotated[int, Field(ge=1, le=16)] = 2
    """In how many namespaces the jobs must be whose workers failed there. With 1 whoever may make
    jobs in one can have nodes quarantined: only for clusters where all trust each other."""
    within: PositiveDuration = timedelta(hours=1)
    """The time in which failures count."""
    gpu_faults: bool = True
    """Whether a node is quarantined at once when one of its GPUs has an error of the hardware, as
    far as Prometheus tells."""
    period: PositiveDuration = timedelta(hours=1)
    """For how long the node carries the taint `plimsoll.dev/quarantine`; then it is tried again."""
    max_nodes_percent: Percent = 10
    """The share of all nodes that may be in quarantine at a time, one at least: where workers fail
    everywhere, it is not the nodes' fault."""

    @model_validator(mode="after")
    def _outlives_evidence(self) -> Self:
        _OUTLIVES_EVIDENCE.require(holds=self.period >= self.within)
        return self


class Fairness(ApiModel):
    """How much the past counts between queues."""

    usage_half_life: Duration = timedelta(days=7)
    """Of queues that wait, the one that has had less of its fair share of late goes first. What was
    used so long ago counts half; `0s`: what was used before does not count."""


class Stragglers(ApiModel):
    """When a worker is much slower than its gang, and how often the gang is moved for it.

    The workers must report how long each computes in a step.
    """

    slower_percent: Annotated[int, Field(ge=0, le=10_000)] = 25
    """By how much longer than the median of its gang a worker computes in a step; 0: nobody is
    looked for. Less than 25 finds what is only noise."""
    after: PositiveDuration = timedelta(minutes=5)
    """For how long it must have been so without a break."""
    interval: PositiveDuration = timedelta(hours=1)
    """How often at most one job is moved for it."""
    avoid: PositiveDuration = timedelta(hours=6)
    """For how long the job is not moved back to the node that it left."""


class Capping(ApiModel):
    """How far plans count on limits on GPUs, to have more jobs within a power budget."""

    max_loss_percent: Annotated[int, Field(ge=0, le=50)] = 0
    """What jobs may lose of their speed by limits on their GPUs that plans count on; with 0 GPUs
    are only limited when more is drawn than was planned."""
    below_priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] = 1
    """Only jobs of lower priority are limited so."""


class Reservation(ApiModel):
    """When nodes are kept free for a training job that waits.

    Else a large one may never find room where small jobs of its priority keep coming.
    """

    after: Duration = timedelta(0)
    """After so long without room, such as `6h`, nodes are kept free for the most urgent job: no
    other that is no more urgent starts there, unless its `work` is known to be done in time. `0s`:
    nothing is ever kept."""


class PlacementPolicySpec(ApiModel):
    """How plans are made."""

    mode: Literal["Enforce", "Advise"] = "Enforce"
    """`Enforce` acts on plans. `Advise` publishes them in the status and touches nothing."""
    objective: Objective = Objective()
    """What plans aim at."""
    planning: Planning = Planning()
    """How long it may take to make a plan. One is made whenever something has changed."""
    disruption_budgets: Annotated[tuple[DisruptionBudget, ...], Field(max_length=8), ATOMIC] = ()
    """How many running jobs plans may disturb; each budget holds. Spot notices, faults and power
    are apart, and so is what follows from a user's own edits."""
    guarantee_grace: Duration = timedelta(minutes=10)
    """For how long what jobs say of themselves (`disruption`, PodDisruptionBudgets) may keep a
    queue from what it is guaranteed. Once a job of that queue has waited so long, it holds no
    longer for jobs that are beyond their own queues' guarantees."""
    fairness: Fairness = Fairness()
    """How much the past counts between queues."""
    quarantine: Quarantine = Quarantine()
    """When a node is taken to be faulty."""
    stragglers: Stragglers = Stragglers()
    """When a worker is taken to slow its gang down."""
    capping: Capping = Capping()
    """How far plans count on limits on GPUs within power budgets."""
    reservation: Reservation = Reservation()
    """When nodes are kept free for a training job that waits."""
    wait_for_pods_ready: WaitForPodsReady = WaitForPodsReady()
    """How long pods may take to start before their place is given back."""
    unreachable_nodes: UnreachableNodes = UnreachableNodes()
    """What becomes of the workers of gangs on nodes that do not answer."""
    max_jobs_per_namespace: Annotated[int, Field(ge=1, le=1_000_000)] = 1000
    """The most jobs of one namespace that are planned for at a time: those that run, then the
    oldest. Others wait with the reason `TooManyJobs`. Jobs that are over or suspended do not
    count. `maxJobs` of a JobQueue bounds a queue."""


class PlannedAction(ApiModel):
    """What the plan does with one job."""

    job: Word
    """The job, as `kind/namespace/name`."""
    action: Word
    """`Admit`, `Resize`, `Migrate`, `Preempt`, `Cap`, `Quarantine`, `Provision` or `Hold`."""
    reason: Word = ""
    """Why, in one word."""
    message: Message = ""
    """Why, and where to, in a sentence."""


class PlanSummary(ApiModel):
    """The last plan."""

    time: Timestamp
    """When it was made."""
    gap_percent: Quantity | None = None
    """How far from the best plan it can be at most."""
    admitted: Count = 0
    """How many jobs have a place by it."""
    held: Count = 0
    """How many jobs wait by it."""
    actions: Count = 0
    """How many actions it asks for, those that hold a job apart."""


class EnergyCount(ApiModel):
    """How much energy counts by what was measured."""

    factor: Quantity
    """How many times its weight; it changes in steps of a quarter."""
    observed_time: Timestamp
    """When that was measured. After a quarter of an hour without a measurement it is 1."""


class PlacementPolicyStatus(ApiModel):
    """The last plan."""

    observed_generation: Count | None = None
    """The generation of the spec that this status speaks of."""
    conditions: Conditions = ()
    """`Planned`: plans are made and found sound. `EnergySignalMeasured`: it is known what
    `energySignal` asks for."""
    last_plan: PlanSummary | None = None
    """The last plan in numbers."""
    energy: EnergyCount | None = None
    """How much energy counts by `energySignal`."""
    actions: Annotated[tuple[PlannedAction, ...], Field(max_length=512), ATOMIC] = ()
    """In `Advise` mode what the last plan would do, the first 512 actions."""


class PlacementPolicy(Resource):
    """What plans aim at, and whether they are acted on; the one named `default` holds."""

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
