"""What a GPUPool says about the ProvisioningRequests by which its nodes are ordered."""

from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from plimsoll.api.model import ApiModel
from plimsoll.api.parts.provisioning.node_claim_template import NodeTaint
from plimsoll.api.schema_marks import ATOMIC, Rule, cel_rules
from plimsoll.api.values.scalars import ResourceName

_ONLY_LOOKS: Final = "check-capacity.autoscaling.x-k8s.io"
_MAKES_NODES: Final = Rule(
    f"!has(self.className) || self.className != '{_ONLY_LOOKS}'",
    "must be a class that makes nodes, which check-capacity does not: omit it for"
    " best-effort-atomic-scale-up.autoscaling.x-k8s.io",
    ".className",
)
_Parameter = Annotated[str, Field(max_length=255)]


class ProvisioningRequestTemplate(ApiModel):
    """The ProvisioningRequests of a pool."""

    model_config = cel_rules(_MAKES_NODES)

    class_name: ResourceName = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
    """Provisioning class."""
    parameters: Annotated[dict[str, _Parameter], Field(max_length=100)] = Field(
        default_factory=dict[str, str]
    )
    """Parameters of the class, such as `ValidUntilSeconds`."""
    taints: Annotated[tuple[NodeTaint, ...], Field(max_length=32), ATOMIC] = ()
    """Taints that the node group's nodes begin with; the requests tolerate just these."""

    @model_validator(mode="after")
    def _makes_nodes(self) -> Self:
        _MAKES_NODES.require(holds=self.class_name != _ONLY_LOOKS)
        return self
