"""The GPUPool: nodes alike in GPU type, price, spot or on-demand, and power."""

from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue

from plimsoll.api.conditions import Conditions
from plimsoll.api.definition import AGE, Column, Definition
from plimsoll.api.model import ApiModel
from plimsoll.api.resource import Resource
from plimsoll.api.scalars import Count, LabelKey, LabelValue, Quantity, Watts, Word
from plimsoll.api.schema_marks import UNTYPED, keyed_by

NodeLabels = Annotated[dict[str, str], Field(min_length=1, max_length=32)]


class GPUPower(ApiModel):
    """What one GPU of the pool draws."""

    idle_watts: Watts
    """With nothing to do."""
    typical_watts: Watts
    """Under the usual load; plans count with it."""
    limit_watts: Watts
    """At its limit."""
    min_cap_watts: Watts | None = None
    """The lowest limit that can be set; without it the GPUs cannot be capped."""


class TopologyKey(ApiModel):
    """A kind of domain, by the node label that tells its domains apart."""

    name: Annotated[
        str, Field(min_length=1, max_length=63, pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
    ]
    """What jobs call it, such as `rack`."""
    label: LabelKey
    """The node label, such as `plimsoll.dev/rack`."""


class Provisioning(ApiModel):
    """How many nodes the pool may have where nodes can be asked for."""

    min: Count = 0
    """The fewest nodes."""
    max: Count
    """The most nodes."""
    node_claim_template: Annotated[dict[str, JsonValue], UNTYPED] | None = None
    """The Karpenter NodeClaim by which a node is asked for."""


class GPUPoolSpec(ApiModel):
    """Which nodes they are, and what is to be known of them."""

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
    """How often an hour the provider takes a spot node back, such as `"0.05"`."""
    topology_keys: Annotated[tuple[TopologyKey, ...], Field(max_length=8), keyed_by("name")] = ()
    """The kinds of domain that the nodes are in, the widest first: zone, block, rack, host."""
    provisioning: Provisioning | None = None
    """How nodes are asked for. Without it the pool has the nodes that it has."""


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
