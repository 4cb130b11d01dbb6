"""The pool of a node, and that pool's name for its GPUs."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.nodes.gpus import Offer
from plimsoll.observe.snapshot import NodeView
from plimsoll_placement.model import GpuType


class Labelled(Protocol):
    """A node, or only its metadata."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The node's labels."""
        ...


def pool_of(node: Labelled, pools: Iterable[GPUPool]) -> GPUPool | None:
    """The pool of a node: the first by name of those whose selector matches."""
    return next((pool for pool in pools if selects(pool.spec.node_selector, node)), None)


def gpu_type_of(offer: Offer, node: NodeView, pool: GPUPool | None) -> GpuType:
    """The planning name of an offer's GPUs: the pool's, if its nodes offer only one type."""
    named = pool.spec.gpu_type if pool and len(node.offers) == 1 else None
    return GpuType(named or offer.gpu_type)


def selects(selector: Mapping[str, str], node: Labelled) -> bool:
    """Whether a node has all the labels that a selector names."""
    labels = node.labels
    return all(labels.get(key) == value for key, value in selector.items())
