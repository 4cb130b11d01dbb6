"""The memory of GPUs that a node hands out in parts.

As GPU Feature Discovery reports it, otherwise as published for the GPU; a slice has that of its own
label. With time-slicing all that share a GPU have its memory together, with MPS each has its part.
"""

from dataclasses import dataclass
from typing import Final

from plimsoll.kube.objects.objects import Labels
from plimsoll.observe.nodes.gpu_figures import figures_of
from plimsoll.observe.nodes.gpus import Offer, is_slice, product_names
from plimsoll.observe.snapshot import NodeView
from plimsoll.observe.whole_numbers import whole_number
from plimsoll_placement.model import UNKNOWN_BYTES, WHOLE_GPU_MILLI

_MEBIBYTE: Final = 2**20
_GIBIBYTE: Final = 2**30
_SHARED: Final = ".shared"


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """The memory of all GPUs that a node hands out in parts, and the most that one pod can have.

    Both are `UNKNOWN_BYTES` if that of one of them is not known.
    """

    total_bytes: int = UNKNOWN_BYTES
    each_bytes: int = UNKNOWN_BYTES


UNKNOWN: Final = SharedMemory()


def shared_memory(node: NodeView) -> SharedMemory:
    """The memory of a node's GPUs that pods share."""
    offers = [offer for offer in node.offers if offer.share_milli < WHOLE_GPU_MILLI]
    if not offers:
        return UNKNOWN
    memory = [_device_bytes(node.labels, offer) for offer in offers]
    if not all(memory):
        return UNKNOWN
    total = sum(bytes_ * offer.count for bytes_, offer in zip(memory, offers, strict=True))
    if node.labels.get("nvidia.com/gpu.sharing-strategy") == "mps":
        memory = [
            bytes_ // offer.units_per_device for bytes_, offer in zip(memory, offers, strict=True)
        ]
    return SharedMemory(total, max(memory))


def _device_bytes(labels: Labels, offer: Offer) -> int:
    """The memory of one GPU or slice; 0 if it is not known."""
    device = offer.resource.partition("/")[2].removesuffix(_SHARED)
    reported = whole_number(labels.get(f"nvidia.com/{device}.memory", ""))
    if reported:
        return reported * _MEBIBYTE
    if is_slice(offer):
        return 0
    known = map(figures_of, (offer.gpu_type, *product_names(labels)))
    figures = next((each for each in known if each is not None), None)
    return figures.memory_gib * _GIBIBYTE if figures is not None else 0
