"""How long may the search for a plan take?"""

from plimsoll.observe.snapshot import Snapshot
from plimsoll_placement.effort import Effort


def effort(snapshot: Snapshot) -> Effort:
    """The effort that the policy allows, the usual one where there is none."""
    if snapshot.policy is None:
        return Effort()
    return Effort(snapshot.policy.spec.planning.time_limit.total_seconds())
