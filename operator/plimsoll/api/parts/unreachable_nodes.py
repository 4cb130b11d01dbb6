"""Handling of pods on unreachable nodes."""

from plimsoll.api.model import ApiModel
from plimsoll.api.values.amounts import Duration


class UnreachableNodes(ApiModel):
    """What happens to gang workers on unreachable nodes.

    Such a node may have failed, or only be cut off, with workers that still train and write
    checkpoints.
    """

    force_delete_after: Duration | None = None
    """How long after a worker should have ended its pod is force-deleted, so that its gang restarts
    elsewhere. Default: never; the gang waits until the node responds, its Node is deleted, or it
    has the taint `node.kubernetes.io/out-of-service`. Set it only if cut-off nodes cannot write
    checkpoints, for instance when fenced or powered down."""
