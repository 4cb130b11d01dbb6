"""The PlacementPolicy: what plans aim at, and whether they are acted on."""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from plimsoll.api.conditions import Conditions
from plimsoll.api.definition import AGE, Column, Definition
from plimsoll.api.model import ApiModel
from plimsoll.api.resource import Resource
from plimsoll.api.scalars import Count, Duration, Message, Quantity, Timestamp, Word
from plimsoll.api.schema_marks import ATOMIC

Preset = Literal["Balanced", "Throughput", "Economy", "Energy"]


class Weights(ApiModel):
    """How much each aim counts beside the others."""

    useful_work: Quantity = Decimal(1)
    """Of training done and load served."""
    money: Quantity = Decimal(1)
    """Of the price of GPUs in use."""
    energy: Quantity = Decimal(1)
    """Of the power that GPUs draw."""


class Objective(ApiModel):
    """What plans aim at."""

    preset: Preset = "Balanced"
    """Weights that fit a purpose: `Throughput` does the most work, `Economy` the most for the
    money, `Energy` the most for the power, `Balanced` a little of each."""
    weights: Weights | None = None
    """Weights of your own, instead of those of the preset."""


class Planning(ApiModel):
    """How often plans are made, and how long one may take."""

    interval: Duration = timedelta(seconds=30)
    """How often a plan is made when nothing has changed. Changes are planned for at once."""
    time_limit: Duration = timedelta(seconds=2)
    """How long the search for a better plan may take; a first plan is there at once."""


class DisruptionBudget(ApiModel):
    """How many running jobs plans may disturb within a time."""

    window: Duration
    """The time that is looked back on, up to 24h."""
    max_jobs: Annotated[
        int | str, Field(json_schema_extra={"anyOf": [{"type": "integer"}, {"type": "string"}]})
    ]
    """How many jobs at most are moved, resized or preempted in it: a number, or a share of those
    that run, such as `10%`."""


class PlacementPolicySpec(ApiModel):
    """How plans are made."""

    mode: Literal["Enforce", "Advise"] = "Enforce"
    """`Enforce` acts on plans. `Advise` publishes them in the status and touches nothing."""
    objective: Objective = Objective()
    """What plans aim at."""
    planning: Planning = Planning()
    """How often plans are made, and how long one may take."""
    disruption_budgets: Annotated[tuple[DisruptionBudget, ...], Field(max_length=8), ATOMIC] = ()
    """How many running jobs plans may disturb; each budget holds. Spot notices, faults and power
    are apart."""


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


class PlacementPolicyStatus(ApiModel):
    """The last plan."""

    observed_generation: Count | None = None
    """The generation of the spec that this status speaks of."""
    conditions: Conditions = ()
    """`Planned`: plans are made and found sound."""
    last_plan: PlanSummary | None = None
    """The last plan in numbers."""
    actions: Annotated[tuple[PlannedAction, ...], Field(max_length=512), ATOMIC] = ()
    """In `Advise` mode what the last plan would do, the first 512 actions."""


class PlacementPolicy(Resource):
    """What plans aim at, and whether they are acted on; the one named `default` holds."""

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
