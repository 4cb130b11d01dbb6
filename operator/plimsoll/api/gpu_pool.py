"""The GPUPool: nodes alike in GPU type, price, spot or on-demand, and power."""

from decimal import Decimal
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, JsonValue, model_validator

from plimsoll.api.definition import AGE, Column, Definition
from plimsoll.api.model import ApiModel
from plimsoll.api.parts.conditions import Conditions
from plimsoll.api.resource import Resource
from plimsoll.api.schema_marks import ATOMIC, Rule, cel_rules, keyed_by
from plimsoll.api.values.amounts import PositiveQuantity, Quantity
from plimsoll.api.values.scalars import (
    Count,
    LabelKey,
    LabelValue,
    ResourceName,
    ShortName,
    Timestamp,
    Watts,
    Word,
)

NodeLabels = Annotated[dict[str, str], Field(min_length=1, max_length=32)]

MAX_TOPOLOGY_KEYS: Final = 8
MOST_NOTICED_NODES: Final = 1024
_PLACES: Final = [*range(MAX_TOPOLOGY_KEYS)]

_POWER_RISES: Final = Rule(
    "self.idleWatts <= self.typicalWatts && self.typicalWatts <= self.limitWatts",
    "must rise from idleWatts to typicalWatts to limitWatts: correct the one that is out of line",
)
_CAP_WITHIN: Final = Rule(
    "!has(self.minCapWatts) ||"
    " self.idleWatts <= self.minCapWatts && self.minCapWatts <= self.limitWatts",
    "must lie within idleWatts and limitWatts, or be left out for GPUs that cannot be capped",
    ".minCapWatts",
)
_NODES_RISE: Final = Rule(
    "!has(self.min) || self.min <= self.max", "must be at least min: raise max or lower min", ".max"
)
_ONLY_SPOT_ENDS: Final = Rule(
    "!has(self.interruptionsPerHour) || self.capacityType == 'Spot' ||"
    " !quantity(string(self.interruptionsPerHour)).isGreaterThan(quantity('0'))",
    "holds for spot nodes only: set capacityType to Spot, or leave it out",
    ".interruptionsPerHour",
)
_LABELS_DIFFER: Final = Rule(
    "!has(self.topologyKeys) || self.topologyKeys.all(key,"
    " self.topologyKeys.exists_one(other, other.label == key.label))",
    "must have a label of its own for each key: take out the key that repeats a label",
    ".topologyKeys",
)
_WIDER_IS_SLOWER: Final = Rule(
    # What is filtered or mapped first is of unknown size to the API server, and so too costly.
    f"!has(self.topologyKeys) || {_PLACES}.all(wide, {_PLACES}.all(narrow,"
    " wide >= narrow || narrow >= self.topologyKeys.size()"
    " || !has(self.topologyKeys[wide].bandwidthGbps)"
    " || !has(self.topologyKeys[narrow].bandwidthGbps)"
    " || !quantity(string(self.topologyKeys[wide].bandwidthGbps))"
    ".isGreaterThan(quantity(string(self.topologyKeys[narrow].bandwidthGbps)))))",
    "must name the widest level first, and none with more bandwidthGbps than a narrower one:"
    " put the keys in order, or lower that of the wider level",
    ".topologyKeys",
)
_ASKED_FOR_KNOWN: Final = Rule(
    "!has(self.provisioning) || has(self.gpuType) && has(self.gpusPerNode)",
    "needs gpuType and gpusPerNode beside it: nodes that are not there yet cannot say what they"
    " have",
    ".provisioning",
)


class GPUPower(ApiModel):
    """What one GPU of the pool draws."""

    model_config = cel_rules(_POWER_RISES, _CAP_WITHIN)

    idle_watts: Watts
    """With nothing to do."""
    typical_watts: Watts
    """Under the usual load, above all of training; plans count with it until it was measured."""
    limit_watts: Watts
    """At its limit."""
    min_cap_watts: Watts | None = None
    """The lowest limit that can be set; without it the GPUs cannot be capped."""

    @model_validator(mode="after")
    def _rises(self) -> Self:
        _POWER_RISES.require(holds=self.idle_watts <= self.typical_watts <= self.limit_watts)
        cap = self.limit_watts if self.min_cap_watts is None else self.min_cap_watts
        _CAP_WITHIN.require(holds=self.idle_watts <= cap <= self.limit_watts)
        return self


class TopologyKey(ApiModel):
    """A kind of domain, by the node label that tells its domains apart."""

    name: ShortName
    """What jobs call it, such as `rack`."""
    label: LabelKey
    """The node label, such as `plimsoll.dev/rack`."""
    bandwidth_gbps: PositiveQuantity | None = None
    """What one GPU has for all-reduce within one such domain, in Gbit/s: 3600 by NVLink, 400 in a
    rack, 100 in a block. With `communicationPercent` of jobs it says what a wider spread costs."""


class Provisioning(ApiModel):
    """How many nodes the pool may have where nodes can be asked for."""

    model_config = cel_rules(_NODES_RISE)

    min: Count = 0
    """The fewest nodes."""
    max: Count
    """The most nodes."""
    node_claim_template: dict[str, JsonValue] | None = None
    """The Karpenter NodeClaim by which a node is asked for."""

    @model_validator(mode="after")
    def _max_from_min(self) -> Self:
        _NODES_RISE.require(holds=self.min <= self.max)
        return self


class GPUPoolSpec(ApiModel):
    """Which nodes they are, and what is to be known of them."""

    model_config = cel_rules(_ONLY_SPOT_ENDS, _LABELS_DIFFER, _WIDER_IS_SLOWER, _ASKED_FOR_KNOWN)

    node_selector: NodeLabels
    """The labels by which nodes belong to the pool. A node belongs to one pool only."""
    gpu_type: LabelValue | None = None
    """The GPU type. Without it, as the nodes' labels say."""
    gpus_per_node: Annotated[int, Field(ge=1, le=1024)] | None = None
    """GPUs of one node, for nodes that are not there yet; the others say it themselves."""
    capacity_type: Literal["OnDemand", "Spot", "Reserved"] = "OnDemand"
    """On what terms the nodes are held. `Spot` nodes can be taken back by their provider."""
    price_per_gpu_hour: Quantity = Decimal(0)
    """What one GPU costs an hour, in the currency of your choice, the same for all pools."""
    power: GPUPower | None = None
    """What one GPU draws. Without it the pool's nodes count for nothing in a PowerDomain."""
    interruptions_per_hour: Quantity = Decimal(0)
    """How often an hour the provider takes a spot node back, such as `"0.05"`, as far as is known;
    what is seen corrects it, in `status.spot`."""
    topology_keys: Annotated[
        tuple[TopologyKey, ...], Field(max_length=MAX_TOPOLOGY_KEYS), keyed_by("name")
    ] = ()
    """The kinds of domain that the nodes are in, the widest first: zone, block, rack, host."""
    provisioning: Provisioning | None = None
    """How nodes are asked for. Without it the pool has the nodes that it has."""

    @model_validator(mode="after")
    def _hold_together(self) -> Self:
        _ONLY_SPOT_ENDS.require(
            holds=self.capacity_type == "Spot" or self.interruptions_per_hour == 0
        )
        labels = [key.label for key in self.topology_keys]
        _LABELS_DIFFER.require(holds=len({*labels}) == len(labels))
        bandwidths = [k.bandwidth_gbps for k in self.topology_keys if k.bandwidth_gbps is not None]
        _WIDER_IS_SLOWER.require(holds=bandwidths == sorted(bandwidths))
        known = self.gpu_type is not None and self.gpus_per_node is not None
        _ASKED_FOR_KNOWN.require(holds=self.provisioning is None or known)
        return self


class SpotHistory(ApiModel):
    """What has been seen of a spot pool. What is long ago counts less: half after 30 days."""

    interruptions: Quantity = Decimal(0)
    """Nodes that were given an interruption notice."""
    node_hours: Quantity = Decimal(0)
    """Hours that nodes were watched, added up over nodes."""
    interruptions_per_hour: Quantity = Decimal(0)
    """How often an hour a node is interrupted: what the spec says, corrected by what was seen."""
    noticed_nodes: Annotated[
        tuple[ResourceName, ...], Field(max_length=MOST_NOTICED_NODES), ATOMIC
    ] = ()
    """The nodes with a notice that have been counted."""
    observed_time: Timestamp
    """Until when node-hours are counted."""


class MeasuredPower(ApiModel):
    """What one GPU of the pool draws in typical use, by what was measured of nodes without limits.

    A GPU is in typical use where a training job has it; what other uses draw is counted from that.
    """

    typical_watts: Quantity
    """As measured so far."""
    planned_watts: Watts
    """What plans count with: the same in steps."""
    seconds: Count
    """For how long that was measured. The longer, the less a new measurement changes it."""
    observed_time: Timestamp
    """Until when it was measured."""


class GPUPoolStatus(ApiModel):
    """What the pool has."""

    observed_generation: Count | None = None
    """The generation of the spec that this status speaks of."""
    conditions: Conditions = ()
    """`Ready`: the pool has nodes, and they are alike."""
    gpu_type: Word = ""
    """The GPU type that was found."""
    nodes: Count = 0
    """How many nodes belong to the pool."""
    nodes_ready: Count = 0
    """How many of them can take pods."""
    gpus: Count = 0
    """How many GPUs they have."""
    gpus_used: Quantity = Decimal(0)
    """How many of these are given to pods."""
    spot: SpotHistory | None = None
    """Interruptions that were seen, for pools of capacity type `Spot`."""
    power: MeasuredPower | None = None
    """What one GPU draws in typical use, as measured. Plans count with it in place of the spec."""


class GPUPool(Resource):
    """Nodes alike in GPU type, price, terms and power."""

    definition: ClassVar[Definition] = Definition(
        kind="GPUPool",
        plural="gpupools",
        short_name="gp",
        columns=(
            Column("GPU", ".status.gpuType"),
            Column("Capacity", ".spec.capacityType"),
            Column("Nodes", ".status.nodes", "integer"),
            Column("GPUs", ".status.gpus", "integer"),
            Column("Used", ".status.gpusUsed"),
            Column("Price/h", ".spec.pricePerGPUHour"),
            AGE,
        ),
    )

    kind: Literal["GPUPool"] = "GPUPool"
    spec: GPUPoolSpec
    """Which nodes they are, and what is to be known of them."""
    status: GPUPoolStatus = GPUPoolStatus()
    """What the pool has."""
