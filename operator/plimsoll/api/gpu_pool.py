"""The GPUPool: nodes alike in GPU type, price, capacity type and power."""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from plimsoll.api.definition import AGE, Column, Definition
from plimsoll.api.model import ApiModel
from plimsoll.api.parts.conditions import Conditions
from plimsoll.api.parts.provisioning.node_claim_template import NodeClaimTemplate
from plimsoll.api.parts.provisioning.provisioning_request_template import (
    ProvisioningRequestTemplate,
)
from plimsoll.api.resource import Resource
from plimsoll.api.schema_marks import ATOMIC, Rule, cel_rules, keyed_by
from plimsoll.api.values.amounts import PositiveDuration, PositiveQuantity, Quantity
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
MOST_RESOURCES: Final = 16
MOST_NOTICED_NODES: Final = 1024
MOST_ORDERED: Final = 256
_PLACES: Final = [*range(MAX_TOPOLOGY_KEYS)]

_POWER_RISES: Final = Rule(
    "self.idleWatts <= self.typicalWatts && self.typicalWatts <= self.limitWatts",
    "must rise from idleWatts to typicalWatts to limitWatts: correct the one out of order",
)
_CAP_WITHIN: Final = Rule(
    "!has(self.minCapWatts) ||"
    " self.idleWatts <= self.minCapWatts && self.minCapWatts <= self.limitWatts",
    "must be between idleWatts and limitWatts, or omitted for GPUs that cannot be capped",
    ".minCapWatts",
)
_NODES_RISE: Final = Rule(
    "!has(self.min) || self.min <= self.max", "must be at least min: raise max or lower min", ".max"
)
_ORDERED_ONE_WAY: Final = Rule(
    "!(has(self.nodeClaim) && has(self.provisioningRequest))",
    "cannot be combined with nodeClaim, as nodes are ordered either from Karpenter or from"
    " cluster-autoscaler: remove one of the two",
    ".provisioningRequest",
)
_OTHER_RESOURCE: Final = (
    r"^(ephemeral-storage|hugepages-[0-9A-Za-z]{1,16}|[0-9a-z.-]{1,253}/[0-9A-Za-z._-]{1,63})$"
)
_NO_DEVICE: Final = (
    r"^(nvidia[.]com/(gpu([.]shared)?|mig-.*)|amd[.]com/(gpu|[^_]*px_nps.*)|kubernetes[.]io/.*)$"
)
_RESOURCES_ARE_OTHERS: Final = Rule(
    "!has(self.resources) || self.resources.all(name,"
    f" name.matches('{_OTHER_RESOURCE}') && !name.matches('{_NO_DEVICE}'))",
    "must name ephemeral-storage, hugepages-SIZE, or devices as DOMAIN/NAME: correct the name;"
    " cpu and memory have fields of their own, and GPUs are in gpusPerNode",
    ".resources",
)
_DEVICES_ARE_WHOLE: Final = Rule(
    "!has(self.resources) || self.resources.all(name, !name.contains('/') ||"
    " quantity(string(self.resources[name])).isInteger())",
    "must count devices in whole numbers: round the amount",
    ".resources",
)
_ONLY_SPOT_ENDS: Final = Rule(
    "!has(self.interruptionsPerHour) || self.capacityType == 'Spot' ||"
    " !quantity(string(self.interruptionsPerHour)).isGreaterThan(quantity('0'))",
    "applies to spot nodes only: set capacityType to Spot, or omit it",
    ".interruptionsPerHour",
)
_LABELS_DIFFER: Final = Rule(
    "!has(self.topologyKeys) || self.topologyKeys.all(key,"
    " self.topologyKeys.exists_one(other, other.label == key.label))",
    "must use each label once: remove the key that repeats one",
    ".topologyKeys",
)
_WIDER_IS_SLOWER: Final = Rule(
    # The API server cannot bound the size of a filtered or mapped list, and calls it too costly.
    f"!has(self.topologyKeys) || {_PLACES}.all(wide, {_PLACES}.all(narrow,"
    " wide >= narrow || narrow >= self.topologyKeys.size()"
    " || !has(self.topologyKeys[wide].bandwidthGbps)"
    " || !has(self.topologyKeys[narrow].bandwidthGbps)"
    " || !quantity(string(self.topologyKeys[wide].bandwidthGbps))"
    ".isGreaterThan(quantity(string(self.topologyKeys[narrow].bandwidthGbps)))))",
    "must be ordered widest first, and no level may have more bandwidthGbps than a narrower one:"
    " reorder the keys, or lower bandwidthGbps of the wider level",
    ".topologyKeys",
)
_ASKED_FOR_KNOWN: Final = Rule(
    "!has(self.provisioning) || has(self.gpuType) && has(self.gpusPerNode)",
    "needs gpuType and gpusPerNode, since nodes that do not exist yet cannot report them: set both",
    ".provisioning",
)


def _is_other_resource(name: str) -> bool:
    return bool(re.fullmatch(_OTHER_RESOURCE, name)) and not re.fullmatch(_NO_DEVICE, name)


class GPUPower(ApiModel):
    """Power draw of one GPU of the pool."""

    model_config = cel_rules(_POWER_RISES, _CAP_WITHIN)

    idle_watts: Watts
    """Watts when idle."""
    typical_watts: Watts
    """Watts under typical load, meaning training. Plans use it until power is measured."""
    limit_watts: Watts
    """Watts at the power limit."""
    min_cap_watts: Watts | None = None
    """Lowest power limit that can be set. Default: no capping."""

    @model_validator(mode="after")
    def _rises(self) -> Self:
        _POWER_RISES.require(holds=self.idle_watts <= self.typical_watts <= self.limit_watts)
        cap = self.limit_watts if self.min_cap_watts is None else self.min_cap_watts
        _CAP_WITHIN.require(holds=self.idle_watts <= cap <= self.limit_watts)
        return self


class TopologyKey(ApiModel):
    """A kind of domain, and the node label that tells its domains apart."""

    name: ShortName
    """The name jobs use, such as `rack`."""
    label: LabelKey
    """The node label, such as `plimsoll.dev/rack`."""
    bandwidth_gbps: PositiveQuantity | None = None
    """All-reduce bandwidth per GPU within such a domain, in Gbit/s: 3600 over NVLink, 400 in a
    rack, 100 in a block. With a job's `communicationPercent` it determines the cost of a wider
    spread."""


class Provisioning(ApiModel):
    """How nodes of the pool are bought for jobs that wait, and given back."""

    model_config = cel_rules(
        _NODES_RISE, _ORDERED_ONE_WAY, _RESOURCES_ARE_OTHERS, _DEVICES_ARE_WHOLE
    )

    min: Count = 0
    """Fewest nodes: those missing are bought at once, and those left are kept though idle."""
    max: Count
    """Most nodes, whoever bought them."""
    node_claim: NodeClaimTemplate | None = None
    """The Karpenter NodeClaims. Default: nothing is bought, and waiting jobs say what would be."""
    headroom: Count = 0
    """Nodes that are kept free, or held by jobs beyond their least sizes, if `max` and the budget
    allow it: for jobs that cannot wait for one to start."""
    provisioning_request: ProvisioningRequestTemplate | None = None
    """The ProvisioningRequests to cluster-autoscaler, instead of NodeClaims."""
    start_time: PositiveDuration = timedelta(minutes=5)
    """How long a node takes from its order until pods can start there, until that has been seen."""
    idle_time: PositiveDuration | None = None
    """After how long an idle node that was bought is given back. Default: by its price, its start
    time, and how soon idle nodes were needed again before; see `status.provisioning`. With
    `provisioningRequest`, cluster-autoscaler's own settings decide that."""
    max_age: PositiveDuration | None = None
    """Age from which a bought node takes nothing new; what runs there moves once it fits elsewhere,
    and the node is given back, or left for cluster-autoscaler to remove. Default: no limit."""
    cpu: PositiveQuantity | None = None
    """CPUs of a future node that pods can have, until one has been seen. Default: as the pool's
    smallest node."""
    memory: PositiveQuantity | None = None
    """Memory of a future node that pods can have, such as `960Gi`, likewise."""
    resources: Annotated[dict[str, PositiveQuantity], Field(max_length=MOST_RESOURCES)] = Field(
        default_factory=dict[str, Decimal]
    )
    """Other resources of a future node that pods can have, such as `vpc.amazonaws.com/efa: 4`,
    until one has been seen; its order requests them. Without it no devices are counted on, and any
    amount of `ephemeral-storage`."""

    @model_validator(mode="after")
    def _hold_together(self) -> Self:
        _NODES_RISE.require(holds=self.min <= self.max)
        _ORDERED_ONE_WAY.require(holds=None in (self.node_claim, self.provisioning_request))
        _RESOURCES_ARE_OTHERS.require(holds=all(map(_is_other_resource, self.resources)))
        devices = (amount for name, amount in self.resources.items() if "/" in name)
        _DEVICES_ARE_WHOLE.require(holds=all(amount == int(amount) for amount in devices))
        return self


class GPUPoolSpec(ApiModel):
    """Which nodes the pool has, and what they are like."""

    model_config = cel_rules(_ONLY_SPOT_ENDS, _LABELS_DIFFER, _WIDER_IS_SLOWER, _ASKED_FOR_KNOWN)

    node_selector: NodeLabels
    """Labels of the pool's nodes. A node belongs to one pool."""
    gpu_type: LabelValue | None = None
    """GPU type. Default: from the nodes' labels."""
    gpus_per_node: Annotated[int, Field(ge=1, le=1024)] | None = None
    """GPUs of future nodes; existing nodes report their own."""
    capacity_type: Literal["OnDemand", "Spot", "Reserved"] = "OnDemand"
    """Purchase terms. The provider can reclaim `Spot` nodes."""
    price_per_gpu_hour: Quantity = Decimal(0)
    """Price of a GPU-hour, in the same currency for all pools. `0`: by the price catalogue, or by
    Karpenter's estimates, if the nodes are of one instance type; else nothing."""
    power: GPUPower | None = None
    """Power draw per GPU. Without it, PowerDomains ignore the pool's nodes."""
    interruptions_per_hour: Quantity = Decimal(0)
    """Interruptions per spot node and hour, such as `"0.05"`; `status.spot` corrects it by
    observation."""
    topology_keys: Annotated[
        tuple[TopologyKey, ...], Field(max_length=MAX_TOPOLOGY_KEYS), keyed_by("name")
    ] = ()
    """Kinds of domain the nodes are in, widest first: zone, block, rack, host."""
    provisioning: Provisioning | None = None
    """How nodes are bought. Default: the pool has the nodes that it has."""

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


class SpotAvailability(ApiModel):
    """Whether spot nodes can be had, and how often they no longer could."""

    available: bool
    """Whether the pool has a node that takes pods."""
    since: Timestamp
    """Since when that has been seen to be so."""
    ended: Quantity = Decimal(0)
    """How often the last such node went, with a half-life of 12 hours."""
    expected: Quantity = Decimal(0)
    """How often it would have gone by what is usual, with the same half-life."""


class SpotHistory(ApiModel):
    """Observed interruptions of a spot pool, with a half-life of 30 days."""

    interruptions: Quantity = Decimal(0)
    """Nodes that received an interruption notice."""
    node_hours: Quantity = Decimal(0)
    """Node-hours observed."""
    interruptions_per_hour: Quantity = Decimal(0)
    """Interruptions per node and hour, by spec and observation."""
    noticed_nodes: Annotated[
        tuple[ResourceName, ...], Field(max_length=MOST_NOTICED_NODES), ATOMIC
    ] = ()
    """Nodes whose notice has been counted."""
    availability: SpotAvailability | None = None
    """Whether there are spot nodes at all, and how long that usually lasts."""
    observed_time: Timestamp
    """Until when node-hours are counted."""


class MeasuredPower(ApiModel):
    """Measured power of one GPU of the pool in typical use, on uncapped nodes.

    Typical use is training; other uses are derived from it.
    """

    typical_watts: Quantity
    """Measured so far."""
    planned_watts: Watts
    """The same in steps, as plans use it."""
    seconds: Count
    """Seconds measured; the longer, the steadier."""
    observed_time: Timestamp
    """Until when it was measured."""


class ProvisioningStatus(ApiModel):
    """What is being bought."""

    ordered: Annotated[tuple[ResourceName, ...], Field(max_length=MOST_ORDERED), ATOMIC] = ()
    """NodeClaims, or ProvisioningRequests, whose nodes have not arrived."""
    failures: Count = 0
    """How many orders in a row could not be met."""
    retry_time: Timestamp | None = None
    """When nodes are ordered again after a failure."""
    start_time: PositiveDuration | None = None
    """How long nodes took from their order until pods could start there: the median."""
    idle_time: PositiveDuration | None = None
    """After how long an idle node is given back, by what has been seen."""
    cpu: Quantity | None = None
    """CPUs that pods can have of a node that was bought, as seen while one was idle."""
    memory: Quantity | None = None
    """Memory that they can have of it, in bytes."""
    resources: Annotated[dict[str, PositiveQuantity], Field(max_length=MOST_RESOURCES)] = Field(
        default_factory=dict[str, Decimal]
    )
    """Other resources that they can have of it."""
    dollars_per_hour: Quantity = Decimal(0)
    """What nodes that were bought and ordered cost an hour, in the currency of the prices."""
    price_per_gpu_hour: Quantity | None = None
    """Price of a GPU-hour as plans take it, stated or by the catalogue."""
    advised_nodes: Count = 0
    """Nodes that would be bought for jobs that wait, where nothing may be bought."""


class GPUPoolStatus(ApiModel):
    """What the pool has."""

    observed_generation: Count | None = None
    """The spec generation this status reflects."""
    conditions: Conditions = ()
    """`Ready`: the pool has nodes, all of one GPU type."""
    gpu_type: Word = ""
    """GPU type."""
    nodes: Count = 0
    """Nodes of the pool."""
    nodes_ready: Count = 0
    """Nodes that can take pods."""
    gpus: Count = 0
    """GPUs of these nodes."""
    gpus_used: Quantity = Decimal(0)
    """GPUs given to pods."""
    spot: SpotHistory | None = None
    """Observed interruptions, if `capacityType` is `Spot`."""
    power: MeasuredPower | None = None
    """Measured power of a GPU in typical use. Plans use it instead of the spec's."""
    provisioning: ProvisioningStatus | None = None
    """What is being bought, if `provisioning` allows it."""


class GPUPool(Resource):
    """Nodes alike in GPU type, price, capacity type and power."""

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
    """Which nodes the pool has, and what they are like."""
    status: GPUPoolStatus = GPUPoolStatus()
    """What the pool has."""
