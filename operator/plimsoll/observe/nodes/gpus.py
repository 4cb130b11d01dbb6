"""Derive the GPUs that a node offers: type, count and sharing.

Read from the allocatable resources that device plugins advertise and from the labels of NVIDIA's
GPU Feature Discovery and AMD's node labeller. A GPU type is the product label without its sharing
suffix; a MIG slice or an AMD partition is a type of its own. What runs on the node is not
considered.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from plimsoll.api.values.quantities import units
from plimsoll.errors import InvalidQuantity
from plimsoll.kube.objects.objects import Labels, Node
from plimsoll.observe.whole_numbers import whole_number
from plimsoll_placement.model import WHOLE_GPU_MILLI, GpuType

_SHARED_RESOURCE = ".shared"
_SHARED_PRODUCT = "-SHARED"
_MIG = "mig-"
_UNNAMED = "unknown-"

# With more shares, a share of 1/1000 would mean "any fraction" to the solver.
_MOST_SHARES = WHOLE_GPU_MILLI // 2

MOST_UNITS: Final = 8192
"""How many GPUs, or shares of GPUs, a node may have: sixteen that are each shared by 500."""

_AMD_PRODUCTS = ("amd.com/gpu.product-name", "beta.amd.com/gpu.product-name")
DISCOVERED_PRODUCTS: Final = ("nvidia.com/gpu.product", *_AMD_PRODUCTS)
"""The labels by which feature discovery names a node's GPUs."""

# Without GPU Feature Discovery, the cloud's own labels may still name the product.
_NVIDIA_PRODUCTS = (
    "nvidia.com/gpu.product",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
)


@dataclass(frozen=True, slots=True)
class Offer:
    """Devices of one type that a node hands out under one resource name.

    `share_milli` is 1000 if a pod gets whole devices, otherwise the share that it gets: 250 if each
    device is shared by four. A pod then requests one of `resource`.
    """

    gpu_type: GpuType
    resource: str
    count: int
    share_milli: int = WHOLE_GPU_MILLI

    @property
    def units_per_device(self) -> int:
        """How many units of `resource` make one device."""
        return WHOLE_GPU_MILLI // self.share_milli


def is_unnamed(gpu_type: GpuType) -> bool:
    """Whether a type only says that no label of its node names one."""
    return gpu_type.startswith(_UNNAMED)


def is_slice(offer: Offer) -> bool:
    """Whether the devices of an offer are partitions of a GPU."""
    return _MIG in offer.resource


def is_gpu_resource(name: str) -> bool:
    """Whether a GPU device plugin hands out a resource of that name."""
    domain, _, device = name.partition("/")
    is_gpu = _IS_DEVICE.get(domain)
    return is_gpu is not None and is_gpu(device)


def gpu_offers(node: Node) -> tuple[Offer, ...]:
    """What `node` offers, by resource name: allocatable, otherwise capacity.

    Raises InvalidQuantity where that is more than any node has.
    """
    advertised = node.status.allocatable or node.status.capacity
    offers = (
        _offer(resource, _units(resource, quantity), node.metadata.labels)
        for resource, quantity in sorted(advertised.items())
        if is_gpu_resource(resource)
    )
    return tuple(offer for offer in offers if offer.count > 0)


def _units(resource: str, quantity: str | int) -> int:
    found = units(quantity)
    if found > MOST_UNITS:
        text = f"status.allocatable.{resource}: {quantity} are more than {MOST_UNITS}"
        raise InvalidQuantity(f"{text}: look at its device plugin")
    return found


def product_names(labels: Labels) -> tuple[str, ...]:
    """What a node's labels call its GPUs; whoever sets them, the surest first."""
    return tuple(labels[name] for name in (*_NVIDIA_PRODUCTS, *_AMD_PRODUCTS) if name in labels)


def _is_nvidia_device(name: str) -> bool:
    whole = name.removesuffix(_SHARED_RESOURCE)
    return whole == "gpu" or whole.startswith(_MIG)


def _is_amd_device(name: str) -> bool:
    # A partition is named by its compute and memory modes, as in cpx_nps4.
    compute, _, memory = name.partition("_")
    return name == "gpu" or (compute.endswith("px") and memory.startswith("nps"))


_IS_DEVICE: Mapping[str, Callable[[str], bool]] = {
    "nvidia.com": _is_nvidia_device,
    "amd.com": _is_amd_device,
}


def _offer(resource: str, advertised: int, labels: Labels) -> Offer:
    domain, _, device = resource.partition("/")
    if domain == "amd.com":
        return Offer(_amd_type(device, labels), resource, advertised)
    device = device.removesuffix(_SHARED_RESOURCE)
    sharers = _sharers(device, labels)
    share_milli = WHOLE_GPU_MILLI // min(sharers, _MOST_SHARES)
    return Offer(_nvidia_type(device, labels), resource, advertised // sharers, share_milli)


def _sharers(device: str, labels: Labels) -> int:
    """How many replicas the device plugin makes of each device, by time-slicing or MPS."""
    # The label is 0 if sharing is not supported, 1 if nothing is shared.
    return max(whole_number(labels.get(f"nvidia.com/{device}.replicas", "")) or 1, 1)


def _nvidia_type(device: str, labels: Labels) -> GpuType:
    # With MIG strategy "single" the GPUs' own product label names the slices.
    own = labels.get(f"nvidia.com/{device}.product")
    if own is not None:
        return GpuType(own.removesuffix(_SHARED_PRODUCT))
    whole = _first(labels, _NVIDIA_PRODUCTS) or f"{_UNNAMED}nvidia-gpu"
    whole = whole.removesuffix(_SHARED_PRODUCT)
    return GpuType(f"{whole}-MIG-{device.removeprefix(_MIG)}" if device != "gpu" else whole)


def _amd_type(device: str, labels: Labels) -> GpuType:
    whole = _first(labels, _AMD_PRODUCTS) or _counted(labels, _AMD_PRODUCTS) or f"{_UNNAMED}amd-gpu"
    return GpuType(f"{whole}-{device.replace('_', '-').upper()}" if device != "gpu" else whole)


def _first(labels: Labels, names: tuple[str, ...]) -> str | None:
    return next((labels[name] for name in names if labels.get(name)), None)


def _counted(labels: Labels, names: tuple[str, ...]) -> str | None:
    """The product, if the label's name ends in it and its value counts the GPUs."""
    products = (
        label.removeprefix(f"{name}.")
        for label in sorted(labels)
        for name in names
        if label.startswith(f"{name}.")
    )
    return next(products, None)
