"""What becomes of all GPUs, and what they cost, as metrics."""

from collections.abc import Iterator
from typing import Final, Literal

from plimsoll.acting.metrics.labels import pool_label
from plimsoll.acting.metrics.published import Published
from plimsoll.observe.nodes.gpus import Offer
from plimsoll.observe.snapshot import NodeView, Snapshot
from plimsoll.observe.views.pools import gpu_type_of
from plimsoll.planning.cluster.holdings import Holdings
from plimsoll.vocabulary import metrics
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.model import WHOLE_GPU_MILLI

GpuState = Literal["Used", "Idle", "Unusable", "Draining", "Unmanaged"]
_STATES: Final[tuple[GpuState, ...]] = ("Used", "Idle", "Unusable", "Draining", "Unmanaged")
_BROKEN: Final = frozenset({Reason.NOT_READY, Reason.UNHEALTHY, Reason.QUARANTINED})


class FleetFigures:
    """Reports how many GPUs of each type and pool are in which state, and the pools' prices."""

    def __init__(self) -> None:
        self._gpus = Published(metrics.GPUS)
        self._prices = Published(metrics.GPU_DOLLARS_PER_HOUR)

    def report(self, snapshot: Snapshot, held: Holdings) -> None:
        """Report the present figures."""
        # A GPU that a job holds may have vanished from its node.
        milli = _milli_by_state(snapshot, held).items()
        self._gpus.publish({labels: max(0, each) / WHOLE_GPU_MILLI for labels, each in milli})
        prices = {pool.metadata.name: pool.spec.price_per_gpu_hour for pool in snapshot.pools}
        self._prices.publish({(pool,): float(each) for pool, each in prices.items() if each})

    def forget(self) -> None:
        """Stop reporting: another replica does."""
        self._gpus.publish({})
        self._prices.publish({})


def _milli_by_state(snapshot: Snapshot, held: Holdings) -> dict[tuple[str, str, str], int]:
    """Milli-GPUs by type, pool and state."""
    found: dict[tuple[str, str, str], int] = {}
    for node in snapshot.nodes:
        pool, rest = pool_label(node.name, snapshot), _state_of_rest(node)
        for kind, offer in _offers_by_type(node, snapshot):
            if (kind, pool, rest) not in found:
                found |= {(kind, pool, state): 0 for state in _STATES}
            unmanaged = node.unmanaged_units.get(offer.resource, 0) * offer.share_milli
            found[kind, pool, "Unmanaged"] += unmanaged
            found[kind, pool, rest] += offer.count * WHOLE_GPU_MILLI - unmanaged
    for (_, kind, name), milli in held.gpu_milli.items():
        node = snapshot.node_by_name.get(name)
        pool = pool_label(name, snapshot)
        if node is not None and milli and (kind, pool, "Used") in found:
            found[kind, pool, "Used"] += milli
            found[kind, pool, _state_of_rest(node)] -= milli
    return found


def _offers_by_type(node: NodeView, snapshot: Snapshot) -> Iterator[tuple[str, Offer]]:
    pool = snapshot.pool_by_node.get(node.name)
    return ((gpu_type_of(offer, node, pool), offer) for offer in node.offers)


def _state_of_rest(node: NodeView) -> GpuState:
    """The state of a node's GPUs that nobody holds."""
    if node.state.open:
        return "Idle"
    return "Unusable" if node.state.reason in _BROKEN else "Draining"
