"""What a plan makes of pods that would not start: a while without asking for them again.

The API server refused them, or they never became ready. A job of which nothing runs waits that
long. A service keeps the replicas that it has and gets no others, until it is time to try again or
its spec changes. Each trial may take others' places for nothing, so the pause is longer after each
that failed.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Final

from plimsoll.api.inference_job import InferenceJobStatus
from plimsoll.api.kinds import JobStatus
from plimsoll.api.parts.conditions import Condition, condition
from plimsoll.api.parts.pods_ready import WaitForPodsReady
from plimsoll.api.placement_policy import PlacementPolicy
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.actions import Hold
from plimsoll.telemetry import Reason
from plimsoll_placement.model import Job, Role

ABLE_TO_SCALE: Final = "AbleToScale"
"""The condition of services that tells what stands against their having other replicas."""
REFUSALS: Final = frozenset({Reason.POD_REFUSED, Reason.PODS_READY_TIMEOUT})
"""Why pods are not asked for again for a while."""
REFUSAL_PAUSE: Final = timedelta(seconds=60)
"""How long refused pods are not asked for again, unless the job's spec changes."""
LONGEST_PAUSE: Final = timedelta(minutes=30)
"""How long at most, when they were refused again and again."""


def terms_of(policy: PlacementPolicy | None) -> WaitForPodsReady:
    """How long pods may take to be ready, and what follows, by the policy or by default."""
    return policy.spec.wait_for_pods_ready if policy is not None else WaitForPodsReady()


def refusal_pause(
    status: JobStatus, reason: Reason | str, policy: PlacementPolicy | None
) -> timedelta | None:
    """How long pods are not asked for again that would not start; None: until the spec changes.

    It is twice as long with each time in a row.
    """
    if reason != Reason.PODS_READY_TIMEOUT:
        return _doubled(status, REFUSAL_PAUSE, LONGEST_PAUSE)
    strategy = terms_of(policy).requeuing_strategy
    limit = strategy.backoff_limit_count
    if limit is not None and status.refusals >= limit:
        return None
    return _doubled(status, strategy.backoff_base, strategy.backoff_max)


def refused_of_late(view: JobView, snapshot: Snapshot) -> Hold | None:
    """The job's pods would not start, and nothing says that they would now."""
    found = condition(view.resource.status.conditions, "Admitted")
    if found is None or found.reason not in REFUSALS or not _holds(view, found, snapshot):
        return None
    return Hold(view.name, Reason(found.reason), found.message, inadmissible=True)


def growth_refusal(status: InferenceJobStatus) -> Condition | None:
    """What was said of new replicas, while others run; Unknown while it is tried again."""
    found = condition(status.conditions, ABLE_TO_SCALE)
    return found if found is not None and found.reason in REFUSALS else None


def may_not_grow(view: JobView, snapshot: Snapshot) -> bool:
    """Whether new replicas of a service would not start of late."""
    found = growth_refusal(view.inference.status) if view.inference is not None else None
    return found is not None and found.status == "False" and _holds(view, found, snapshot)


def without_growth(job: Job, nodes: Callable[[Iterable[str]], int]) -> Job:
    """The job with no more replicas than run, and where they run: it can only give way.

    `nodes` gives the mask of nodes by name.
    """
    here = nodes(name for assignment in job.running for name in assignment.nodes)
    counts = Counter(assignment.role for assignment in job.running)
    roles = tuple(_at_most(role, counts[role.name], here) for role in job.roles)
    return replace(job, roles=roles)


def _at_most(role: Role, most: int, nodes: int) -> Role:
    counts = tuple(count for count in role.counts if count <= max(most, role.least))
    return replace(role, counts=counts, eligible=role.eligible & nodes)


def _doubled(status: JobStatus, first: timedelta, longest: timedelta) -> timedelta:
    return min(longest, first * 2 ** min(max(0, status.refusals - 1), 16))


def _holds(view: JobView, refusal: Condition, snapshot: Snapshot) -> bool:
    if refusal.observed_generation != view.resource.metadata.generation:
        return False
    pause = refusal_pause(view.resource.status, refusal.reason, snapshot.policy)
    return pause is None or snapshot.now - refusal.last_transition_time <= pause
