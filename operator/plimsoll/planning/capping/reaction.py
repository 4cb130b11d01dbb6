"""React to a power domain's draw: caps, and how far plans stay below its budget.

Caps respond at once to a measured or expected overdraw, jobs of lowest priority first. If the
measured draw stays above budget although caps do what they can, plans must take work away: they
assign fewer watts then, and more again once there is headroom. Everything remembered is in the
nodes' annotations and the domain's status, so that a new leader carries on from there.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from plimsoll.api.parts.conditions import condition
from plimsoll.api.power_domain import PowerDomain
from plimsoll.observe.nodes.power_limits import CAP
from plimsoll.observe.snapshot import NodeView, Snapshot
from plimsoll.planning.capping.caps import Draw, Watts, domain_caps
from plimsoll.planning.cluster.power_model import MILLIWATTS, expected_milliwatts
from plimsoll.planning.power.loads import counted_milliwatts, servers_of, uses_of, uses_until_gone
from plimsoll.planning.problem.build import PlanInput
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.estimate.capping.domain import MEASURED, Caps, Server
from plimsoll_placement.model import DomainName
from plimsoll_placement.problem import Problem

WITHIN_BUDGET: Final = "WithinBudget"
NOT_MEASURED_YET: Final = "not measured yet"
RESTORED_PERCENT: Final = 5
"""The percentage of the budget that plans get back at a time."""


@dataclass(frozen=True, slots=True)
class Reaction:
    """What to do in one domain, and what to remember about it.

    `counted_watts` is the expected draw plus the plans' reserve. `measured_watts` is None if
    unknown, and `unknown` then says why. `caps` has the domain's nodes that can be capped.
    `calm_since`: since when caps could be released.
    """

    domain: PowerDomain
    expected_watts: int
    counted_watts: int
    planned_watts: int
    measured_watts: int | None
    unknown: str
    caps: Mapping[str, Watts] = field(default_factory=dict[str, Watts])
    saved_watts: int = 0
    calm_since: datetime | None = None
    reduced_watts: int | None = None
    reduced_time: datetime | None = None

    @property
    def is_new(self) -> bool:
        """Whether its draw is unknown only because it has not been queried yet."""
        return self.measured_watts is None and self.unknown == NOT_MEASURED_YET

    @property
    def overshoots(self) -> bool:
        """Whether it draws more than its budget, as measured or otherwise as expected."""
        return self.drawn_watts > self.domain.spec.budget_watts

    @property
    def is_calm(self) -> bool:
        """Whether it has nothing to react to, and nothing to take back."""
        is_capped = any(watts is not None for watts in self.caps.values())
        return not (self.overshoots or is_capped or self.reduced_watts is not None)

    @property
    def drawn_watts(self) -> int:
        """The measured draw or, while that is unknown, the expected draw under the caps."""
        if self.measured_watts is not None:
            return self.measured_watts
        return self.expected_watts - self.saved_watts


@dataclass(frozen=True, slots=True)
class CapChange:
    """Set a node's power limit to so many watts per GPU, or lift it; `message` says why."""

    node: NodeView
    watts: Watts
    at: datetime
    message: str

    @property
    def reason(self) -> Reason:
        """The reason, as one word."""
        return Reason.POWER_RELEASED if self.watts is None else Reason.POWER_CAPPED


def power_reactions(snapshot: Snapshot, problem: Problem) -> tuple[Reaction, ...]:
    """The reaction of each domain, in the snapshot's order."""
    if not snapshot.power_domains:
        return ()
    amounts = _amounts(snapshot, problem)
    return tuple(_reaction(domain, snapshot, amounts) for domain in snapshot.power_domains)


class Reactions:
    """The reactions of domains, computed once per snapshot and plan input.

    They stand while only the time differs and no domain has anything to react to.
    """

    def __init__(self) -> None:
        self._known: tuple[Snapshot, PlanInput, tuple[Reaction, ...]] | None = None
        self._is_calm = False

    def of(self, snapshot: Snapshot, plan_input: PlanInput) -> tuple[Reaction, ...]:
        """The reaction of each domain, in the snapshot's order."""
        known = self._known
        if known is None or not self._stand(known[0], known[1], snapshot, plan_input):
            found = power_reactions(snapshot, plan_input.as_it_runs)
            known = self._known = (snapshot, plan_input, found)
            self._is_calm = all(each.is_calm for each in found)
        return known[2]

    def _stand(
        self, seen: Snapshot, built: PlanInput, snapshot: Snapshot, plan_input: PlanInput
    ) -> bool:
        if built is not plan_input:
            return False
        return seen is snapshot or (self._is_calm and snapshot.differs_only_in_time(seen))


def cap_changes(snapshot: Snapshot, reactions: Iterable[Reaction]) -> Iterator[CapChange]:
    """The nodes whose caps differ from what they should be.

    A node of several domains gets the lowest of their caps; a node of none gets no cap.
    """
    wanted: dict[str, tuple[int, str]] = {}
    for reaction in reactions:
        name, budget = reaction.domain.metadata.name, reaction.domain.spec.budget_watts
        for node, watts in reaction.caps.items():
            if watts is not None and (node not in wanted or watts < wanted[node][0]):
                why = f"so that power domain {name} stays within its budget of {budget} W"
                wanted[node] = watts, f"its GPUs are limited {why}"
    noted, nodes = snapshot.memo.of(_noted_caps, snapshot.nodes), snapshot.node_by_name
    for name in sorted(nodes.keys() & (wanted.keys() | noted.keys())):
        watts, why = wanted.get(name, (None, "its GPUs are no longer limited"))
        if noted.get(name) != (None if watts is None else str(watts)):
            yield CapChange(nodes[name], watts, snapshot.now, why)


def _noted_caps(nodes: tuple[NodeView, ...]) -> Mapping[str, str]:
    """The caps in the annotations of nodes, by name."""
    found = ((node.name, node.node.metadata.annotations.get(CAP)) for node in nodes)
    return {name: watts for name, watts in found if watts is not None}


@dataclass(frozen=True, slots=True)
class _Amounts:
    """Expected, counted and assigned milliwatts by domain, and servers by node."""

    expected: Mapping[str, int]
    counted: Mapping[DomainName, int]
    planned: Mapping[DomainName, int]
    servers: Mapping[str, Server]


def _amounts(snapshot: Snapshot, problem: Problem) -> _Amounts:
    """Computed for all domains at once, since they share nodes."""
    uses = uses_of(problem)
    within = (node for node in snapshot.nodes if snapshot.domains_by_node[node.name])
    return _Amounts(
        expected_milliwatts(snapshot, problem),
        counted_milliwatts(problem, uses),
        {each.name: each.budget_milliwatts for each in problem.power_domains},
        {s.name: s for s in servers_of(snapshot, within, uses_until_gone(uses, problem, snapshot))},
    )


def _reaction(domain: PowerDomain, snapshot: Snapshot, amounts: _Amounts) -> Reaction:
    name, reading = DomainName(domain.metadata.name), snapshot.power
    nodes = snapshot.nodes_by_domain[name]
    servers = [amounts.servers[node.name] for node in nodes if node.name in amounts.servers]
    drawn = reading.domains.get(name) if reading else None
    counted = -(-amounts.counted[name] // MILLIWATTS)
    draw = Draw(None if drawn is None else round(drawn), counted)
    caps = domain_caps(domain, draw, servers, nodes, snapshot)
    reaction = Reaction(
        domain,
        expected_watts=-(-amounts.expected[name] // MILLIWATTS),
        counted_watts=counted,
        planned_watts=amounts.planned[name] // MILLIWATTS,
        measured_watts=draw.measured,
        unknown=_unknown(name, snapshot),
        caps=caps.by_node,
        saved_watts=caps.saved_watts,
        calm_since=caps.calm_since,
        reduced_watts=domain.status.reduced_watts,
        reduced_time=domain.status.reduced_time,
    )
    return _reduced(reaction, caps.response, snapshot.now)


def _unknown(name: str, snapshot: Snapshot) -> str:
    if snapshot.power is None:
        return "the draw is not measured: Prometheus is not configured, or has not been queried yet"
    return snapshot.power.problems.get(name, NOT_MEASURED_YET)


def _reduced(reaction: Reaction, caps: Caps | None, now: datetime) -> Reaction:
    """The reaction, with the most watts that plans may assign."""
    measured, spec, reduced = reaction.measured_watts, reaction.domain.spec, reaction.reduced_watts
    if measured is None:
        # Nothing tells when there is headroom again; what the administrator says now counts.
        stays = reduced is None or not _is_edited(reaction.domain)
        return reaction if stays else replace(reaction, reduced_watts=None, reduced_time=now)
    may_take = bool({"Shrink", "Preempt"} & {*spec.reaction.order})
    if may_take and _is_due(reaction, caps, now):
        left = measured
        if caps is not None and caps.shortfall_watts > 0:
            left = min(measured, spec.budget_watts + caps.shortfall_watts)
        fitting = int(MEASURED.target * spec.budget_watts / max(left, 1) * reaction.counted_watts)
        return replace(reaction, reduced_watts=fitting, reduced_time=now)
    if reduced is None or not _may_restore(reaction, now):
        return reaction
    more = reduced + spec.budget_watts * RESTORED_PERCENT // 100
    enough = more >= max(spec.budget_watts, reaction.counted_watts)
    return replace(reaction, reduced_watts=None if enough else more, reduced_time=now)


def _is_due(reaction: Reaction, caps: Caps | None, now: datetime) -> bool:
    """Whether the domain has overdrawn for so long that work must go, and none is going yet."""
    if not reaction.overshoots:
        return False
    limit, status = reaction.domain.spec.overshoot_limit, reaction.domain.status
    within = condition(status.conditions, WITHIN_BUDGET)
    if within is None or within.status == "True":
        return False
    if reaction.reduced_time is not None and now - reaction.reduced_time < limit:
        return False
    # If caps at their lowest are not enough now, waiting does not help.
    inadmissible = "Cap" not in reaction.domain.spec.reaction.order or (
        caps is not None and caps.shortfall_watts > 0
    )
    return now - within.last_transition_time >= (limit / 2 if inadmissible else limit)


def _is_edited(domain: PowerDomain) -> bool:
    """Whether its spec is another one than its status is about."""
    return domain.status.observed_generation not in (None, domain.metadata.generation)


def _may_restore(reaction: Reaction, now: datetime) -> bool:
    """Whether there has been headroom for a while for what plans would add."""
    budget, measured = reaction.domain.spec.budget_watts, reaction.measured_watts
    is_edited = _is_edited(reaction.domain)
    rest = timedelta() if is_edited else timedelta(seconds=MEASURED.calm_seconds)
    if reaction.reduced_time is None or now - reaction.reduced_time < rest:
        return False
    if measured is None or any(watts is not None for watts in reaction.caps.values()):
        return False
    added = budget * RESTORED_PERCENT / 100
    # While the draw does not exceed expectation, plans keep the budget by themselves.
    has_room = measured + added <= MEASURED.release_below * budget
    return has_room or measured <= reaction.expected_watts
