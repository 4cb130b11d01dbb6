"""The PowerDomain: nodes that together may draw no more than so much."""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from plimsoll.api.definition import AGE, Column, Definition
from plimsoll.api.gpu_pool import NodeLabels
from plimsoll.api.model import ApiModel
from plimsoll.api.parts.conditions import Conditions
from plimsoll.api.resource import Resource
from plimsoll.api.schema_marks import ATOMIC, Rule, cel_rules
from plimsoll.api.values.amounts import Duration, Fraction, Quantity
from plimsoll.api.values.scalars import Count, PromQL, Timestamp, Watts, Word

MOST_PAYERS: Final = 32
PowerStep = Literal["Cap", "Shrink", "Preempt"]


_EACH_STEP_ONCE: Final = Rule(
    "self.order.all(step, self.order.exists_one(other, other == step))",
    "must name each step once: take out the one that is repeated",
    ".order",
)


class PowerReaction(ApiModel):
    """What is done when the domain draws too much."""

    model_config = cel_rules(_EACH_STEP_ONCE)

    order: Annotated[tuple[PowerStep, ...], Field(min_length=1, max_length=3), ATOMIC] = (
        "Cap",
        "Shrink",
        "Preempt",
    )
    """The steps in their order, each on the jobs of lowest priority first: `Cap` limits GPUs,
    `Shrink` takes workers and replicas away, `Preempt` stops whole jobs. What is left out is
    never done."""

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        _EACH_STEP_ONCE.require(holds=len({*self.order}) == len(self.order))
        return self


class PowerDomainSpec(ApiModel):
    """Which nodes they are, and what they may draw."""

    node_selector: NodeLabels
    """The labels by which nodes belong to the domain. A node may belong to several."""
    budget_watts: Annotated[int, Field(ge=1, le=1_000_000_000)]
    """What all GPUs of the nodes may draw together, in watts."""
    quantile: Fraction = Decimal("0.99")
    """The share of the time for which plans keep what is drawn within the budget without a limit on
    any GPU: what is expected, and beyond it a reserve for how far GPUs stray from that. At 0.5
    nothing is kept in reserve."""
    measured_power_query: PromQL | None = None
    """The PromQL query for what they draw, in watts. Without it only what is expected counts."""
    reaction: PowerReaction = PowerReaction()
    """What is done when the domain draws too much."""
    overshoot_limit: Duration = timedelta(seconds=10)
    """How long the domain may draw more than its budget before that is done."""


class PowerDeviation(ApiModel):
    """How far what is drawn was seen to stray from what is expected.

    In percent of what the pools let expect if each GPU for itself drew its limit one time in a
    hundred.
    """

    percent: Quantity
    """As measured so far."""
    planned_percent: Count
    """What plans keep in reserve for: the same in steps."""
    seconds: Count
    """For how long that was measured. The longer, the less a new measurement changes it."""
    observed_time: Timestamp
    """Until when it was measured."""


class PowerDomainStatus(ApiModel):
    """What the domain draws."""

    observed_generation: Count | None = None
    """The generation of the spec that this status speaks of."""
    conditions: Conditions = ()
    """`WithinBudget`: the domain draws no more than it may. `PowerMeasured`: it is known what it
    draws. `CapsApplied`: the agents on its nodes have set the caps."""
    nodes: Count = 0
    """How many nodes belong to the domain."""
    budget_watts: Watts = 0
    """The budget that plans in force keep to."""
    expected_watts: Watts = 0
    """What the GPUs draw by the plan in force."""
    measured_watts: Watts | None = None
    """What the GPUs draw as measured."""
    capped_watts: Watts | None = None
    """What limits on GPUs save."""
    capped_nodes: Count = 0
    """How many of its nodes have limited GPUs."""
    payers: Annotated[tuple[Word, ...], Field(max_length=MOST_PAYERS), ATOMIC] = ()
    """The jobs that run on limited GPUs, as kind/namespace/name, those of lowest priority first."""
    calm_since: Timestamp | None = None
    """Since when so little is drawn that limits can be lifted; they are after a minute."""
    reduced_watts: Watts | None = None
    """What plans give out at most, because more was drawn than expected and limits on GPUs did not
    help. It rises again when there is room."""
    reduced_time: Timestamp | None = None
    """When that was changed last."""
    deviation: PowerDeviation | None = None
    """How far what is drawn strays from what is expected, as measured."""


class PowerDomain(Resource):
    """Nodes whose GPUs together may draw no more than a budget."""

    definition: ClassVar[Definition] = Definition(
        kind="PowerDomain",
        plural="powerdomains",
        short_name="pd",
        columns=(
            Column("Budget-W", ".spec.budgetWatts", "integer"),
            Column("Expected-W", ".status.expectedWatts", "integer"),
            Column("Measured-W", ".status.measuredWatts", "integer"),
            Column("Nodes", ".status.nodes", "integer"),
            AGE,
            Column("Capped-W", ".status.cappedWatts", "integer", 1),
        ),
    )

    kind: Literal["PowerDomain"] = "PowerDomain"
    spec: PowerDomainSpec
    """Which nodes they are, and what they may draw."""
    status: PowerDomainStatus = PowerDomainStatus()
    """What the domain draws."""
