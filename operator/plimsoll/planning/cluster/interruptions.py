"""Estimate the interruption rate of a pool's spot nodes from observations in the pool's status.

A node with an interruption notice counts as one interruption. If a provider takes nodes without a
notice visible to others (Karpenter only says that the node is disrupted), it is not noticed here.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from plimsoll.api.gpu_pool import MOST_NOTICED_NODES, GPUPool, SpotHistory
from plimsoll.api.values.amounts import to_decimal
from plimsoll.observe.nodes.notices import has_interruption_notice
from plimsoll.observe.snapshot import NodeView
from plimsoll.planning.cluster.spot_availability import can_be_had, with_availability
from plimsoll_placement.estimate.spot.risk import History, interruptions_per_hour

HALF_LIFE = timedelta(days=30)
"""Observations of this age count half, because pools change."""
RECOUNT = timedelta(minutes=10)
"""How often node-hours are written while nothing else changes."""
LONGEST_WATCH = timedelta(minutes=30)
"""After a longer gap it is unknown which nodes existed, and no hours are counted."""
_DIGITS = 6


def interruption_rate(pool: GPUPool) -> Decimal:
    """Interruptions per node and hour: as declared, corrected by observation.

    To two digits, so that it triggers a new plan only after a change of some percent.
    """
    if pool.spec.capacity_type != "Spot":
        return Decimal(0)
    seen = pool.status.spot
    history = History(float(seen.interruptions), float(seen.node_hours)) if seen else History()
    rate = interruptions_per_hour(float(pool.spec.interruptions_per_hour), history)
    return to_decimal(float(f"{rate:.2g}"), _DIGITS)


def spot_history(pool: GPUPool, nodes: Sequence[NodeView], now: datetime) -> SpotHistory | None:
    """A pool's observations up to now; the same as before if there is nothing to write.

    The hours since the last count assume the number of nodes recorded then.
    """
    if pool.spec.capacity_type != "Spot":
        return None
    noticed = tuple(n.name for n in nodes if has_interruption_notice(n.node))[:MOST_NOTICED_NODES]
    before, available = pool.status.spot, can_be_had(nodes)
    if before is None:
        first = SpotHistory(observed_time=now.replace(microsecond=0))
        return _counted(pool, with_availability(first, first, available=available), noticed)
    elapsed = now - before.observed_time
    same = noticed == before.noticed_nodes and len(nodes) == pool.status.nodes
    known = before.availability
    same = same and known is not None and known.available == available
    if same and elapsed < RECOUNT:
        return _rated(pool, before)
    later = _later(before, pool.status.nodes, now)
    return _counted(pool, with_availability(later, before, available=available), noticed)


def _later(before: SpotHistory, nodes: int, now: datetime) -> SpotHistory:
    """The earlier observations, decayed, plus the node-hours since."""
    elapsed = max(now - before.observed_time, timedelta(0))
    kept = 0.5 ** (elapsed / HALF_LIFE)
    watched = elapsed if elapsed <= LONGEST_WATCH else timedelta(0)
    hours = nodes * (watched / timedelta(hours=1))
    return before.model_copy(
        update={
            "interruptions": to_decimal(float(before.interruptions) * kept, _DIGITS),
            "node_hours": to_decimal(float(before.node_hours) * kept + hours, _DIGITS),
            "observed_time": now.replace(microsecond=0),
        }
    )


def _counted(pool: GPUPool, before: SpotHistory, noticed: tuple[str, ...]) -> SpotHistory:
    new = len({*noticed} - {*before.noticed_nodes})
    update = {"interruptions": before.interruptions + new, "noticed_nodes": noticed}
    return _rated(pool, before.model_copy(update=update))


def _rated(pool: GPUPool, history: SpotHistory) -> SpotHistory:
    status = pool.status.model_copy(update={"spot": history})
    rate = interruption_rate(pool.model_copy(update={"status": status}))
    return history.model_copy(update={"interruptions_per_hour": rate})
