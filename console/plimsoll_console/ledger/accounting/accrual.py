"""What was used between two observations of the cluster.

Objects tell of their own past: when a node and a pod were created, when a pod began to work and
ended. So a pod that is seen after a gap is charged from its true start on, and one that was there
before and is there after was there all the time. After a longer gap nothing tells what became of
the rest: when a pod ended that is gone, or whether another came and went. That is unobserved, a
kind of its own, and so is all time of a node that is gone.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from plimsoll_console.ledger.accounting.node_time import Claim, Span, claims_of, divide
from plimsoll_console.ledger.accounting.observation import (
    NOBODY,
    Account,
    Devices,
    Holding,
    Observation,
    SeenNode,
    Wait,
)
from plimsoll_console.ledger.accounting.tally import RowKey, Tally, Use, hours_between

LONGEST_STEP_MS: Final = 120_000
"""Between observations further apart than this, what they do not show is unobserved."""


def accrued(before: Observation, after: Observation) -> Tally:
    """What was used from one observation up to the next; nothing if time did not pass."""
    tally = Tally()
    if after.at_ms <= before.at_ms:
        return tally
    nodes_before = {node.uid: node for node in before.nodes}
    nodes_after = {node.uid: node for node in after.nodes}
    held_before, held_after = _by_node(before.holdings), _by_node(after.holdings)
    for uid in {**nodes_before, **nodes_after}:
        was = _Sight(nodes_before.get(uid), held_before.get(uid, {}))
        now = _Sight(nodes_after.get(uid), held_after.get(uid, {}))
        _add_node(tally, was, now, Span(before.at_ms, after.at_ms))
    _add_waits(tally, before, after)
    return tally


class _Sight:
    """What was seen of one node: nothing, or the node and its pods by uid."""

    def __init__(self, node: SeenNode | None, holdings: Mapping[str, Holding]) -> None:
        self.node, self.holdings = node, holdings


def _by_node(holdings: Iterable[Holding]) -> Mapping[str, Mapping[str, Holding]]:
    found: dict[str, dict[str, Holding]] = defaultdict(dict)
    for each in holdings:
        found[each.node][each.uid] = each
    return found


def _is_gap(span: Span) -> bool:
    return span.end_ms - span.start_ms > LONGEST_STEP_MS


def _add_node(tally: Tally, was: _Sight, now: _Sight, span: Span) -> None:
    """Add a node's time: since it was created, if it was not there before."""
    node = was.node or now.node
    if node is None:
        return
    gap = _is_gap(span)
    if was.node is None:
        span = Span(min(max(span.start_ms, node.created_ms), span.end_ms), span.end_ms)
    rest = Use.UNOBSERVED if gap else Use.IDLE if node.usable else Use.UNUSABLE
    holdings = [] if gap and now.node is None else list(_known(was, now, gap=gap))
    for devices in node.devices:
        claims = [
            claim
            for each in holdings
            if each.resource == devices.resource
            for claim in claims_of(each, devices, span)
        ]
        if not gap:
            claims += _levels(was.node, now.node, devices, span)
        divide(tally, devices, span, claims, rest)


def _known(was: _Sight, now: _Sight, *, gap: bool) -> Iterator[Holding]:
    """The pods whose times are known, those seen last first: they hold what others have left."""
    for uid, holding in now.holdings.items():
        earlier = was.holdings.get(uid)
        yield holding if earlier is None else _left_first(holding, earlier)
    if not gap:
        yield from (each for uid, each in was.holdings.items() if uid not in now.holdings)


def _left_first(holding: Holding, earlier: Holding) -> Holding:
    """A pod as it was seen last, which leaves from when that was first seen."""
    if earlier.leaves_ms is None or holding.leaves_ms is None:
        return holding
    return replace(holding, leaves_ms=min(earlier.leaves_ms, holding.leaves_ms))


def _levels(
    was: SeenNode | None, now: SeenNode | None, devices: Devices, span: Span
) -> Iterator[Claim]:
    """What was reserved, or taken by others, at both ends."""
    first, last = (_amounts(each or was or now, devices.resource) for each in (was, now))
    for account, milli in first.items():
        use = Use.FOREIGN if account is None else Use.RESERVED
        watts = devices.busy_watts if account is None else devices.idle_watts
        both = min(milli, last.get(account, 0))
        if both:
            yield Claim(*span, both, account or NOBODY, use, watts)


def _amounts(node: SeenNode | None, resource: str) -> Mapping[Account | None, int]:
    found: dict[Account | None, int] = defaultdict(int)
    for level in node.levels if node else ():
        if level.resource == resource:
            found[level.account] += level.milli
    return found


def _add_waits(tally: Tally, before: Observation, after: Observation) -> None:
    waited = {each.account.uid: each for each in before.waits if each.until_ms is None}
    for wait in after.waits:
        start, end = _waited(waited.get(wait.account.uid), wait, before.at_ms, after.at_ms)
        for hour, milliseconds in hours_between(start, end):
            key = RowKey(hour, wait.account, wait.place, Use.WAITING)
            tally.spend(key, wait.milli * milliseconds, 0)


def _waited(earlier: Wait | None, wait: Wait, start_ms: int, end_ms: int) -> Span:
    """The time that a job waited between two observations, as far as it is certain."""
    end = end_ms if wait.until_ms is None else min(wait.until_ms, end_ms)
    placed_once = wait.until_ms is not None
    waited_all = earlier is not None and wait.revision == earlier.revision + placed_once
    start = start_ms if waited_all else max(start_ms, wait.since_ms)
    return Span(min(start, end), end)
