"""Find the jobs that have waited so long that lower priorities give way whatever they lose."""

from datetime import datetime, timedelta

from plimsoll.api.placement_policy import PlacementPolicy, PlacementPolicySpec
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.quota.reservation import waits_since


def priority_grace(policy: PlacementPolicy | None) -> timedelta:
    """How long jobs wait for room before they are overdue."""
    spec = PlacementPolicySpec() if policy is None else policy.spec
    return spec.disruption_price.priority_grace


def is_overdue(view: JobView, grace: timedelta, now: datetime) -> bool:
    """Whether a job has waited for room for longer than the grace."""
    if not grace:
        return True
    since = waits_since(view)
    return since is not None and now - since >= grace
