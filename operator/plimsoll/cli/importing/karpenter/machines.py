"""Which GPUs an instance type has: as the user says, as nodes of it say, or as the cloud does.

The table is of AWS's and Azure's instance types with NVIDIA GPUs, by the clouds' own pages ("EC2
accelerated computing", "GPU-accelerated VM sizes"), with the names that GPU Feature Discovery gives
their GPUs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from plimsoll.cli.importing.karpenter.node_pools import INSTANCE_TYPE, POOL_OF_A_NODE, NodePool
from plimsoll.kube.objects.objects import Node
from plimsoll.observe.nodes.gpus import gpu_offers
from plimsoll_placement.model import WHOLE_GPU_MILLI

_AWS: Final = "karpenter.k8s.aws/instance-"
_SKU: Final = "karpenter.azure.com/sku-"
_OF_INSTANCE_TYPES: Final = (_AWS, _SKU)
_ATTACHED: Final = ("vpc.amazonaws.com/efa",)


@dataclass(frozen=True, slots=True)
class Machine:
    """An instance type's GPUs and labels, and what else pods can have of it, if that is known.

    `devices`: the network devices that Karpenter attaches where they are requested, by resource.
    """

    gpu_type: str
    gpus: int
    cpu: str = ""
    memory: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    devices: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class _Family:
    """Instance types of AWS that begin alike: the sizes by how many GPUs they have."""

    gpu_type: str
    gpu_name: str
    sizes: Mapping[int, tuple[str, ...]]


_ONE: Final = ("xlarge", "2xlarge", "4xlarge", "8xlarge", "16xlarge")
_SIZES: Final = {1: _ONE, 4: ("12xlarge", "24xlarge"), 8: ("48xlarge",)}
_FAMILIES: Final[Mapping[str, _Family]] = {
    "g4dn": _Family("Tesla-T4", "t4", {1: _ONE, 4: ("12xlarge",), 8: ("metal",)}),
    "g5": _Family("NVIDIA-A10G", "a10g", _SIZES),
    "g6": _Family("NVIDIA-L4", "l4", _SIZES),
    "g6e": _Family("NVIDIA-L40S", "l40s", _SIZES),
    "p3": _Family(
        "Tesla-V100-SXM2-16GB", "v100", {1: ("2xlarge",), 4: ("8xlarge",), 8: ("16xlarge",)}
    ),
    "p3dn": _Family("Tesla-V100-SXM2-32GB", "v100", {8: ("24xlarge",)}),
    "p4d": _Family("NVIDIA-A100-SXM4-40GB", "a100", {8: ("24xlarge",)}),
    "p4de": _Family("NVIDIA-A100-SXM4-80GB", "a100", {8: ("24xlarge",)}),
    "p5": _Family("NVIDIA-H100-80GB-HBM3", "h100", {1: ("4xlarge",), 8: ("48xlarge",)}),
    "p5e": _Family("NVIDIA-H200", "h200", {8: ("48xlarge",)}),
    "p5en": _Family("NVIDIA-H200", "h200", {8: ("48xlarge",)}),
}
_AZURE: Final[Mapping[str, tuple[str, int]]] = {
    "Standard_NC4as_T4_v3": ("Tesla-T4", 1),
    "Standard_NC8as_T4_v3": ("Tesla-T4", 1),
    "Standard_NC16as_T4_v3": ("Tesla-T4", 1),
    "Standard_NC64as_T4_v3": ("Tesla-T4", 4),
    "Standard_NC24ads_A100_v4": ("NVIDIA-A100-80GB-PCIe", 1),
    "Standard_NC48ads_A100_v4": ("NVIDIA-A100-80GB-PCIe", 2),
    "Standard_NC96ads_A100_v4": ("NVIDIA-A100-80GB-PCIe", 4),
    "Standard_NC40ads_H100_v5": ("NVIDIA-H100-NVL", 1),
    "Standard_NC80adis_H100_v5": ("NVIDIA-H100-NVL", 2),
    "Standard_ND96asr_v4": ("NVIDIA-A100-SXM4-40GB", 8),
    "Standard_ND96amsr_A100_v4": ("NVIDIA-A100-SXM4-80GB", 8),
    "Standard_ND96isr_H100_v5": ("NVIDIA-H100-80GB-HBM3", 8),
    "Standard_ND96isr_H200_v5": ("NVIDIA-H200", 8),
}


class Machines:
    """Finds machines by the name of their instance type."""

    def __init__(self, said: Mapping[str, Machine], nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._known = dict(_table())
        for node in nodes:
            name, machine = node.metadata.labels.get(INSTANCE_TYPE, ""), _of_node(node)
            if name and machine is not None:
                self._known[name] = machine
        self._known |= said

    def of(self, pool: NodePool) -> dict[str, Machine]:
        """Those with GPUs that a NodePool's requirements allow, by instance type."""
        return {
            name: each for name, each in self._candidates(pool) if _is_allowed(name, each, pool)
        }

    def unknown(self, pool: NodePool) -> list[str]:
        """The instance types that it names of which nothing is known."""
        return sorted({*_named(pool)} - self._known.keys())

    def _candidates(self, pool: NodePool) -> Iterator[tuple[str, Machine]]:
        """Whatever it names; else what its nodes are, and what the table has of its cloud.

        A requirement on a label of a cloud's instance types says which cloud it is.
        """
        named = {*_named(pool)}
        if not named:
            its = (
                node.metadata.labels.get(INSTANCE_TYPE, "")
                for node in self._nodes
                if node.metadata.labels.get(POOL_OF_A_NODE) == pool.metadata.name
            )
            named = {*its, *_of_its_cloud(pool)}
        return ((name, self._known[name]) for name in sorted(named) if name in self._known)


def _named(pool: NodePool) -> Iterator[str]:
    for each in pool.requirements:
        if each.key == INSTANCE_TYPE and each.operator == "In":
            yield from each.values


def _of_its_cloud(pool: NodePool) -> Iterable[str]:
    keys = {each.key for each in pool.requirements}
    return (name for name, each in _table() if not keys.isdisjoint(each.labels))


def _is_allowed(name: str, machine: Machine, pool: NodePool) -> bool:
    """Whether its requirements allow it, as far as its labels are known."""
    labels = {**machine.labels, INSTANCE_TYPE: name}
    return all(each.allows(labels[each.key]) for each in pool.requirements if each.key in labels)


def _of_node(node: Node) -> Machine | None:
    """What a node says of its instance type; None if it has no whole GPUs."""
    offers = [each for each in gpu_offers(node) if each.share_milli == WHOLE_GPU_MILLI]
    if len(offers) != 1 or not offers[0].count:
        return None
    can = node.status.allocatable
    sizes = {name: str(can[name]) for name in ("cpu", "memory") if name in can}
    labels = {k: v for k, v in node.metadata.labels.items() if k.startswith(_OF_INSTANCE_TYPES)}
    devices = {name: str(can[name]) for name in _ATTACHED if str(can.get(name, 0)) != "0"}
    return Machine(offers[0].gpu_type, offers[0].count, **sizes, labels=labels, devices=devices)


def _table() -> Iterator[tuple[str, Machine]]:
    for family, each in _FAMILIES.items():
        for gpus, sizes in each.sizes.items():
            for size in sizes:
                labels = {
                    f"{_AWS}category": family[0],
                    f"{_AWS}family": family,
                    f"{_AWS}size": size,
                    f"{_AWS}gpu-count": str(gpus),
                    f"{_AWS}gpu-manufacturer": "nvidia",
                    f"{_AWS}gpu-name": each.gpu_name,
                }
                yield f"{family}.{size}", Machine(each.gpu_type, gpus, labels=labels)
    for name, (gpu_type, gpus) in _AZURE.items():
        labels = {
            f"{_SKU}name": name,
            f"{_SKU}gpu-count": str(gpus),
            f"{_SKU}gpu-manufacturer": "nvidia",
        }
        yield name, Machine(gpu_type, gpus, labels=labels)
