"""What is done about pods whose node does not answer."""

from plimsoll.api.model import ApiModel
from plimsoll.api.values.amounts import Duration


class UnreachableNodes(ApiModel):
    """What becomes of the workers of gangs on nodes that do not answer.

    Such a node may have failed, or only be cut off; then its workers still train and write
    checkpoints.
    """

    force_delete_after: Duration | None = None
    """How long after a worker should have ended its pod is removed by force, so that its gang
    starts elsewhere. Without it that never happens: the gang waits until the node answers, its Node
    is deleted, or it has the taint `node.kubernetes.io/out-of-service`. Set it only where a node
    that is cut off cannot write checkpoints, such as where it is fenced off or powered down."""
