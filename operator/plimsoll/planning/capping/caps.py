"""Choose the power caps of a domain's nodes, by measured and by expected draw.

Each node gets the lower of both caps. Each measurement leads to one response, and the next response
needs a reading taken after that one took effect; until then, and while nothing is measured, caps
stay as they are.

A cap that its node does not keep stays requested until there is headroom without it. If it were
withdrawn at once, the next reading would request it again, since nothing would then count against
the node. Meanwhile other nodes save what this one should.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from plimsoll.api.power_domain import PowerDomain
from plimsoll.observe.snapshot import NodeView, Snapshot
from plimsoll_placement.estimate.capping.control import wanted_caps
from plimsoll_placement.estimate.capping.domain import MEASURED, PLANNED, Caps, Server

Watts = int | None
"""A limit on each GPU of a node; None is the GPUs' default."""
CAP: Final = "Cap"


@dataclass(frozen=True, slots=True)
class Draw:
    """A domain's draw in watts: measured, if known, and as plans count it."""

    measured: int | None
    counted: int


@dataclass(frozen=True, slots=True)
class DomainCaps:
    """The limits by node, what they save, and since when they could be lifted.

    `response` is what the measured draw calls for, None without a fresh reading.
    """

    by_node: Mapping[str, Watts] = field(default_factory=dict[str, Watts])
    saved_watts: int = 0
    calm_since: datetime | None = None
    response: Caps | None = None


@dataclass(frozen=True, slots=True)
class _Required:
    """What the measured draw requires."""

    by_node: Mapping[str, Watts]
    calm_since: datetime | None = None
    response: Caps | None = None


def domain_caps(
    domain: PowerDomain,
    draw: Draw,
    servers: Sequence[Server],
    nodes: Sequence[NodeView],
    snapshot: Snapshot,
) -> DomainCaps:
    """The limits of a domain's nodes; none if its `reaction` does not include caps."""
    if CAP not in domain.spec.reaction.order:
        return DomainCaps()
    expected = _by_expectation(domain, draw, servers)
    required = _by_measurement(domain, draw, servers, nodes, snapshot)
    both = {
        s.name: lowest(required.by_node.get(s.name), expected.by_server[s.name]) for s in servers
    }
    saved = required.response.saved_watts if required.response else expected.saved_watts
    return DomainCaps(both, saved, required.calm_since, required.response)


def lowest(one: Watts, other: Watts) -> Watts:
    """The lower of two limits; None is no limit."""
    return min((each for each in (one, other) if each is not None), default=None)


def _by_expectation(domain: PowerDomain, draw: Draw, servers: Sequence[Server]) -> Caps:
    """The caps that the expected draw requires, whatever is measured."""
    unmeasured = [replace(each, cap_watts=None, measured_watts=None) for each in servers]
    return wanted_caps(domain.spec.budget_watts, draw.counted, unmeasured, margins=PLANNED)


def _by_measurement(
    domain: PowerDomain,
    draw: Draw,
    servers: Sequence[Server],
    nodes: Sequence[NodeView],
    snapshot: Snapshot,
) -> _Required:
    wanted = {node.name: node.limits.wanted for node in nodes}
    if draw.measured is None:
        return _Required(_unmeasured(domain, draw, servers, wanted, snapshot))
    if _is_too_old(nodes, snapshot):
        return _Required(_kept(servers, wanted), domain.status.calm_since)
    return _response(domain, draw.measured, servers, wanted, snapshot.now)


def _unmeasured(
    domain: PowerDomain,
    draw: Draw,
    servers: Sequence[Server],
    wanted: Mapping[str, Watts],
    snapshot: Snapshot,
) -> Mapping[str, Watts]:
    """Caps stay; where nothing is ever measured, only the plans' caps apply."""
    if snapshot.power is not None:
        return _kept(servers, wanted)
    is_needed = draw.counted > domain.spec.budget_watts
    return _unkept(servers, wanted) if is_needed else {}


def _kept(servers: Iterable[Server], wanted: Mapping[str, Watts]) -> Mapping[str, Watts]:
    """The existing caps of nodes in use."""
    return {server.name: wanted[server.name] for server in servers if server.gpus}


def _unkept(servers: Sequence[Server], wanted: Mapping[str, Watts]) -> Mapping[str, Watts]:
    """Caps that stay requested, in watts by node: of nodes in use that cannot be capped now."""
    stubborn = (s for s in servers if s.gpus and s.min_cap_watts is None)
    return {s.name: wanted[s.name] for s in stubborn if wanted.get(s.name) is not None}


def _is_too_old(nodes: Iterable[NodeView], snapshot: Snapshot) -> bool:
    """Whether the reading predates the last cap change, and so does not show its effect."""
    changed = [node.limits.changed_at for node in nodes if node.limits.changed_at is not None]
    assert snapshot.power is not None  # noqa: S101 - there is a reading of the domain
    return bool(changed) and snapshot.power.measured_at <= max(changed)


def _response(
    domain: PowerDomain,
    measured: int,
    servers: Sequence[Server],
    wanted: Mapping[str, Watts],
    now: datetime,
) -> _Required:
    """The response to a fresh reading."""
    budget, since = domain.spec.budget_watts, domain.status.calm_since
    calm_seconds = (now - since).total_seconds() if since else 0.0
    caps = wanted_caps(budget, measured, servers, calm_seconds=calm_seconds, margins=MEASURED)
    unkept = _unkept(servers, wanted)
    has_room = _has_room_without(unkept, budget, measured, caps, servers)
    if has_room and calm_seconds >= MEASURED.calm_seconds:
        unkept = dict.fromkeys(unkept)
    calm_since = (since or now) if caps.is_calm or has_room else None
    return _Required({**caps.by_server, **unkept}, calm_since, caps)


def _has_room_without(
    unkept: Mapping[str, Watts],
    budget: int,
    measured: int,
    caps: Caps,
    servers: Sequence[Server],
) -> bool:
    """Whether unkept caps have become pointless, since all others are already lifted."""
    others = (watts for name, watts in caps.by_server.items() if name not in unkept)
    if not unkept or any(watts is not None for watts in others):
        return False
    return measured + _released_watts(servers, unkept) <= MEASURED.release_below * budget


def _released_watts(servers: Sequence[Server], unkept: Mapping[str, Watts]) -> int:
    """The most by which the draw would rise without these caps, as far as they are in force."""
    return sum(
        s.gpus * max(0, s.draw_watts - s.cap_watts)
        for s in servers
        if s.name in unkept and s.cap_watts is not None
    )
