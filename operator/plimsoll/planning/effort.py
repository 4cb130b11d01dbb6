"""How long may the search for a plan take? As the policy says, or as is usual."""

from plimsoll.observe.snapshot import Snapshot
from plimsoll_placement.effort import Effort


def effort(snapshot: Snapshot) -> Effort:
    """The effort by the policy, the usual one where there is no policy."""
    if snapshot.policy is None:
        return Effort()
    return Effort(snapshot.policy.spec.planning.time_limit.total_seconds())
