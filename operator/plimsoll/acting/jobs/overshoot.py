"""How long a job leaving an overdrawn power domain may take: until `overshootLimit` has passed.

A breaker does not wait for a save or a drain: whatever leaves because a domain is over its budget
must be gone, or at least be terminating, once the domain has drawn too much for `overshootLimit`.
The same holds for anything that drains there, as it draws power until it has gone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from plimsoll.acting.conditions.conditions import whole_second
from plimsoll.acting.step import Turn
from plimsoll.api.parts.conditions import condition
from plimsoll.api.power_domain import PowerDomain
from plimsoll.api.values.durations import duration_text
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.planning.actions import Migrate, Preempt, Resize
from plimsoll.planning.capping.reaction import WITHIN_BUDGET


@dataclass(frozen=True, slots=True)
class Overshoot:
    """How long a power domain may be over its budget, and when that time ends."""

    domain: str
    limit: timedelta
    ends: datetime

    @property
    def text(self) -> str:
        """Why whatever runs there has no more time, for people."""
        limit = duration_text(self.limit)
        return f"power domain {self.domain} may exceed its budget for only {limit}"


def overshoot_ends(view: JobView, turn: Turn) -> datetime | None:
    """When the power domain for which a job leaves must be back within its budget.

    None if it leaves for no domain, or for one whose measured draw is within its budget.
    """
    overshoot = _decided(view, turn)
    return None if overshoot is None else overshoot.ends


def overshoot_of(view: JobView, replica: Iterable[PodView], turn: Turn) -> Overshoot | None:
    """What bounds a replica's drain: the domain for which it leaves, or one that it draws in.

    A replica that keeps its place is only being renewed. It keeps its draw, so no domain bounds it.
    """
    decided = _decided(view, turn)
    if decided is not None or _keeps_place(view, replica):
        return decided
    known = turn.snapshot.domains_by_node
    there = {name for pod in replica for name in known.get(pod.node, ())}
    found = (_reported(each) for each in turn.snapshot.power_domains if each.metadata.name in there)
    return min(filter(None, found), key=lambda each: each.ends, default=None)


def _decided(view: JobView, turn: Turn) -> Overshoot | None:
    action = turn.decided.get(view.name)
    if not isinstance(action, Resize | Migrate | Preempt) or not action.power_domain:
        return None
    name, domains = action.power_domain, turn.snapshot.power_domains
    domain = next((each for each in domains if each.metadata.name == name), None)
    return None if domain is None else _reported(domain) or _just_lowered(domain, turn.now)


def _reported(domain: PowerDomain) -> Overshoot | None:
    """The overshoot that a domain's status reports; None if it is within its budget."""
    limit, within = domain.spec.overshoot_limit, condition(domain.status.conditions, WITHIN_BUDGET)
    if within is None or within.status != "False":
        return None
    return Overshoot(domain.metadata.name, limit, within.last_transition_time + limit)


def _just_lowered(domain: PowerDomain, now: datetime) -> Overshoot | None:
    """The overshoot of a budget that has no report yet: its time begins now."""
    limit, status = domain.spec.overshoot_limit, domain.status
    within = condition(status.conditions, WITHIN_BUDGET)
    is_new = within is None or status.observed_generation != domain.metadata.generation
    return Overshoot(domain.metadata.name, limit, whole_second(now) + limit) if is_new else None


def _keeps_place(view: JobView, replica: Iterable[PodView]) -> bool:
    placement = view.resource.status.placement
    kept = {(each.role, each.replica) for each in (placement.assignments if placement else ())}
    return any((pod.role, pod.replica) in kept for pod in replica)
