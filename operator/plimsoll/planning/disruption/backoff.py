"""Back off after pods failed to start, before trying them again.

Either the API server refused them, or they never became ready. A job with nothing running waits
that long. A service keeps its replicas and gets no more until it is time to retry or its spec
changes. Each attempt may preempt others for nothing, so the pause grows with each failure.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Final

from plimsoll.api.inference_job import InferenceJobStatus
from plimsoll.api.kinds import JobStatus
from plimsoll.api.parts.conditions import Condition, condition
from plimsoll.api.parts.pods_ready import WaitForPodsReady
from plimsoll.api.placement_policy import PlacementPolicy
from plimsoll.api.values.quantities import InvalidQuantity, parse_quantity
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.actions import Hold
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.model import Job, Role

ABLE_TO_SCALE: Final = "AbleToScale"
"""The condition of services that says what keeps them from getting other replicas."""
REFUSALS: Final = frozenset({Reason.POD_REFUSED, Reason.PODS_READY_TIMEOUT})
"""Reasons for which pods are not retried for a while."""
REFUSAL_PAUSE: Final = timedelta(seconds=60)
"""How long refused pods are not retried, unless the job's spec changes."""
LONGEST_PAUSE: Final = timedelta(minutes=30)
"""The longest pause, after repeated refusals."""


_QUOTA: Final = re.compile(r"exceeded quota: .*, used: (?P<used>\S+), limited: (?P<limited>\S+)")
"""What the API server says of pods beyond a ResourceQuota."""


def terms_of(policy: PlacementPolicy | None) -> WaitForPodsReady:
    """How long pods may take to become ready, and what follows, by the policy or by default."""
    return policy.spec.wait_for_pods_ready if policy is not None else WaitForPodsReady()


def refusal_pause(
    status: JobStatus, reason: Reason | str, policy: PlacementPolicy | None
) -> timedelta | None:
    """How long pods that failed to start are not retried; None: until the spec changes.

    It doubles with each failure in a row.
    """
    if reason != Reason.PODS_READY_TIMEOUT:
        return _doubled(status, REFUSAL_PAUSE, LONGEST_PAUSE)
    strategy = terms_of(policy).requeuing_strategy
    limit = strategy.backoff_limit_count
    if limit is not None and status.refusals >= limit:
        return None
    return _doubled(status, strategy.backoff_base, strategy.backoff_max)


def refused_of_late(view: JobView, snapshot: Snapshot) -> Hold | None:
    """Whether the job's pods failed to start, with no sign that they would start now."""
    found = condition(view.resource.status.conditions, "Admitted")
    if found is None or found.reason not in REFUSALS or not _holds(view, found, snapshot):
        return None
    return Hold(view.name, Reason(found.reason), found.message, inadmissible=True)


def growth_refusal(status: InferenceJobStatus) -> Condition | None:
    """The refusal of new replicas while others run; Unknown while they are being retried."""
    found = condition(status.conditions, ABLE_TO_SCALE)
    return found if found is not None and found.reason in REFUSALS else None


def is_quota_full(message: str) -> bool:
    """Whether pods were refused only because a ResourceQuota is used up, but not exceeded.

    In place of others they would be within it.
    """
    found = _QUOTA.search(message)
    if found is None:
        return False
    try:
        used, limited = (_amounts(found[name]) for name in ("used", "limited"))
    except InvalidQuantity:
        return False
    return all(amount <= limited.get(name, amount) for name, amount in used.items())


def _amounts(listed: str) -> dict[str, Decimal]:
    """The amounts of resources as the API server lists them: `cpu=2,pods=3`."""
    pairs = (each.partition("=") for each in listed.split(","))
    return {name: parse_quantity(amount) for name, _, amount in pairs}


def may_not_grow(view: JobView, snapshot: Snapshot) -> bool:
    """Whether new replicas of a service recently failed to start."""
    found = growth_refusal(view.inference.status) if view.inference is not None else None
    return found is not None and found.status == "False" and _holds(view, found, snapshot)


def without_growth(job: Job, nodes: Callable[[Iterable[str]], int]) -> Job:
    """The job limited to its running replicas and their nodes: it can only yield.

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
