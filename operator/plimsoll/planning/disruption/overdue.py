"""Find the jobs that have waited so long that lower priorities give way whatever they lose."""

from datetime import datetime, timedelta

from plimsoll.api.parts.conditions import condition
from plimsoll.api.placement_policy import PlacementPolicy, PlacementPolicySpec
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.quota.reservation import waits_since
from plimsoll.vocabulary.reasons import Reason


def priority_grace(policy: PlacementPolicy | None) -> timedelta:
    """How long jobs wait for room before they are overdue."""
    spec = PlacementPolicySpec() if policy is None else policy.spec
    return spec.disruption_price.priority_grace


def is_overdue(view: JobView, grace: timedelta, now: datetime) -> bool:
    """Whether a job has waited for room, or a service for replicas, for longer than the grace."""
    if not grace:
        return True
    since = waits_since(view) or _short_since(view)
    return since is not None and now - since >= grace


def _short_since(view: JobView) -> datetime | None:
    """Since when a service has lacked replicas; None if it has all of them."""
    degraded = condition(view.resource.status.conditions, "Degraded")
    if degraded is None or degraded.status != "True" or degraded.reason != Reason.REPLICAS_MISSING:
        return None
    return degraded.last_transition_time
