"""The PowerDomain: nodes that share a power budget."""

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
    "must name each step once: remove the duplicate",
    ".order",
)


class PowerReaction(ApiModel):
    """What happens when the domain draws too much."""

    model_config = cel_rules(_EACH_STEP_ONCE)

    order: Annotated[tuple[PowerStep, ...], Field(min_length=1, max_length=3), ATOMIC] = (
        "Cap",
        "Shrink",
        "Preempt",
    )
    """Steps in order, each on lowest-priority jobs first: `Cap` limits GPU power, `Shrink` removes
    workers and replicas, `Preempt` stops whole jobs. Omitted steps are never taken."""

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        _EACH_STEP_ONCE.require(holds=len({*self.order}) == len(self.order))
        return self


class PowerDomainSpec(ApiModel):
    """The domain's nodes and their budget."""

    node_selector: NodeLabels
    """Labels of the domain's nodes. A node may belong to several domains."""
    budget_watts: Annotated[int, Field(ge=1, le=1_000_000_000)]
    """Maximum total draw of the nodes' GPUs, in watts."""
    quantile: Fraction = Decimal("0.99")
    """Share of the time that plans keep draw within budget without caps, by reserving room for
    variation around expected draw. `"0.5"` reserves none."""
    measured_power_query: PromQL | None = None
    """PromQL for the domain's draw in watts, returning one series. Default: the sum of
    `DCGM_FI_DEV_POWER_USAGE` over its GPUs. Without a measurement, expected draw counts."""
    reaction: PowerReaction = PowerReaction()
    """What happens when the domain draws too much."""
    overshoot_limit: Duration = timedelta(seconds=10)
    """How long measured draw may exceed the budget before plans shrink or preempt jobs; half as
    long if caps cannot suffice. Caps act at once. It also bounds notices and drains of these
    jobs."""


class PowerDeviation(ApiModel):
    """How far measured draw varies around expected draw.

    In percent of what the pools imply if each GPU independently hit its limit one time in a
    hundred.
    """

    percent: Quantity
    """Measured so far."""
    planned_percent: Count
    """The same in steps, as plans use it for the reserve."""
    seconds: Count
    """Seconds measured; the longer, the steadier."""
    observed_time: Timestamp
    """Until when it was measured."""


class PowerDomainStatus(ApiModel):
    """What the domain draws."""

    observed_generation: Count | None = None
    """The spec generation this status reflects."""
    conditions: Conditions = ()
    """`WithinBudget`: draw is within the budget. `PowerMeasured`: draw is measured. `CapsApplied`:
    the agents have set all caps."""
    nodes: Count = 0
    """Nodes of the domain."""
    budget_watts: Watts = 0
    """Budget that current plans keep to."""
    expected_watts: Watts = 0
    """Expected draw under the current plan."""
    measured_watts: Watts | None = None
    """Measured draw."""
    capped_watts: Watts | None = None
    """Watts that caps save."""
    capped_nodes: Count = 0
    """Nodes with capped GPUs."""
    payers: Annotated[tuple[Word, ...], Field(max_length=MOST_PAYERS), ATOMIC] = ()
    """Jobs on capped GPUs, as `kind/namespace/name`, lowest priority first."""
    calm_since: Timestamp | None = None
    """Since when draw has been low enough to lift caps, which takes a minute."""
    reduced_watts: Watts | None = None
    """Reduced budget for plans while measured draw exceeds expectations and caps do not help; it
    rises again with room."""
    reduced_time: Timestamp | None = None
    """When `reducedWatts` last changed."""
    deviation: PowerDeviation | None = None
    """How far measured draw varies around expected draw."""


class PowerDomain(Resource):
    """Nodes whose GPUs share a power budget."""

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
    """The domain's nodes and their budget."""
    status: PowerDomainStatus = PowerDomainStatus()
    """What the domain draws."""
