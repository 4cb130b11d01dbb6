"""What a GPUPool says about the Karpenter NodeClaims by which its nodes are ordered.

It has the form of a NodePool's template, so that one can be copied.
"""

from typing import Annotated, Literal

from pydantic import Field

from plimsoll.api.model import ApiModel
from plimsoll.api.schema_marks import ATOMIC
from plimsoll.api.values.scalars import KindName, LabelKey, ResourceName

_Text = Annotated[str, Field(max_length=253)]


class NodeClassRef(ApiModel):
    """The provider's settings, such as an EC2NodeClass."""

    group: ResourceName
    """API group, such as `karpenter.k8s.aws`."""
    kind: KindName
    """Kind, such as `EC2NodeClass`."""
    name: ResourceName
    """Name."""


class NodeRequirement(ApiModel):
    """What a node must be, by one of its labels."""

    key: LabelKey
    """Label, such as `node.kubernetes.io/instance-type`."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"]
    """How its value is compared."""
    values: Annotated[tuple[_Text, ...], Field(max_length=64), ATOMIC] = ()
    """Values."""


class NodeTaint(ApiModel):
    """A taint that nodes begin with."""

    key: LabelKey
    """Key."""
    value: Annotated[str, Field(max_length=63)] | None = None
    """Value."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    """Effect."""


class NodeClaimMeta(ApiModel):
    """Labels and annotations of NodeClaims."""

    labels: Annotated[dict[str, _Text], Field(max_length=64)] = Field(
        default_factory=dict[str, str]
    )
    """Labels that the nodes will have as well; `nodeSelector` is added."""
    annotations: Annotated[dict[str, str], Field(max_length=64)] = Field(
        default_factory=dict[str, str]
    )
    """Annotations."""


class NodeClaimSpec(ApiModel):
    """What is ordered."""

    node_class_ref: NodeClassRef
    """The provider's settings."""
    requirements: Annotated[tuple[NodeRequirement, ...], Field(max_length=64), ATOMIC] = ()
    """What the node must be. The capacity type of the pool is added, and what of its `nodeSelector`
    the provider decides: instance type, zone, region, architecture."""
    taints: Annotated[tuple[NodeTaint, ...], Field(max_length=32), ATOMIC] = ()
    """Taints of the node."""
    startup_taints: Annotated[tuple[NodeTaint, ...], Field(max_length=32), ATOMIC] = ()
    """Taints that others remove once the node is ready."""
    termination_grace_period: Annotated[str, Field(max_length=32)] | None = None
    """How long draining may take, such as `30m`."""
    expire_after: Annotated[str, Field(max_length=32)] = "Never"
    """Age at which Karpenter replaces the node, whatever runs there."""


class NodeClaimTemplate(ApiModel):
    """The NodeClaims of a pool."""

    metadata: NodeClaimMeta = NodeClaimMeta()
    """Labels and annotations."""
    spec: NodeClaimSpec
    """What is ordered."""
