"""Whether a spot pool has nodes, for how long, and how often it lost the last of them."""

from collections.abc import Iterable
from datetime import datetime

from plimsoll.api.gpu_pool import GPUPool, SpotAvailability, SpotHistory
from plimsoll.api.values.amounts import to_decimal
from plimsoll.observe.snapshot import NodeView
from plimsoll_placement.estimate.spot.belief import Belief

_DIGITS = 6


def can_be_had(nodes: Iterable[NodeView]) -> bool:
    """Whether any of these nodes takes pods."""
    return any(node.state.open for node in nodes)


def belief_of(pool: GPUPool, nodes: Iterable[NodeView], now: datetime) -> Belief:
    """What is known of a pool's nodes now, from its status and from those that it has."""
    return _belief(pool.status.spot, now, available=can_be_had(nodes))


def with_availability(history: SpotHistory, before: SpotHistory, *, available: bool) -> SpotHistory:
    """A pool's observations, of now, with what the earlier ones and the present say of it."""
    now, was = history.observed_time, before.availability
    belief = _belief(before, now, available=available)
    since = was.since if was is not None and was.available == available else now
    found = SpotAvailability(
        available=available,
        since=since,
        ended=to_decimal(belief.ended, _DIGITS),
        expected=to_decimal(belief.expected, _DIGITS),
    )
    return history.model_copy(update={"availability": found})


def _belief(before: SpotHistory | None, now: datetime, *, available: bool) -> Belief:
    known = None if before is None else before.availability
    if before is None or known is None:
        return Belief(available)
    lasted = (before.observed_time - known.since).total_seconds()
    then = Belief(known.available, max(lasted, 0.0), float(known.ended), float(known.expected))
    passed = max((now - before.observed_time).total_seconds(), 0.0)
    return then.later(passed, spot_is_up=available)
