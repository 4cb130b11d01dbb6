"""Which pool a node belongs to, and what its GPUs are called there."""

from collections.abc import Iterable, Mapping

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.nodes.gpus import Offer
from plimsoll.observe.snapshot import NodeView
from plimsoll_placement.model import GpuType


def pool_of(node: NodeView, pools: Iterable[GPUPool]) -> GPUPool | None:
    """The pool that a node belongs to: of those whose selector matches, the first by name."""
    return next((pool for pool in pools if selects(pool.spec.node_selector, node)), None)


def gpu_type_of(offer: Offer, node: NodeView, pool: GPUPool | None) -> GpuType:
    """What plans call the GPUs of an offer: as its pool does, for nodes that offer but one type."""
    named = pool.spec.gpu_type if pool and len(node.offers) == 1 else None
    return GpuType(named or offer.gpu_type)


def selects(selector: Mapping[str, str], node: NodeView) -> bool:
    """Whether a node has all the labels that a selector names."""
    labels = node.labels
    return all(labels.get(key) == value for key, value in selector.items())
