"""The labels are those that GPU Feature Discovery 0.17 and AMD's node labeller write."""

from collections.abc import Mapping

import pytest

from plimsoll.errors import InvalidQuantity
from plimsoll.kube.objects.objects import Node, NodeMeta, NodeStatus
from plimsoll.observe.nodes.gpus import Offer, gpu_offers, is_gpu_resource
from plimsoll_placement.model import GpuType

H100 = GpuType("NVIDIA-H100-80GB-HBM3")


def a_node(
    labels: Mapping[str, str],
    allocatable: Mapping[str, str | int],
    capacity: Mapping[str, str | int] | None = None,
) -> Node:
    status = NodeStatus(capacity=capacity or allocatable, allocatable=allocatable)
    return Node(metadata=NodeMeta(name="n", labels=labels), status=status)


def an_offer(gpu_type: str, resource: str, count: int, share_milli: int = 1000) -> Offer:
    return Offer(GpuType(gpu_type), resource, count, share_milli)


WHOLE = ({"nvidia.com/gpu.product": H100, "nvidia.com/gpu.replicas": "1"}, {"nvidia.com/gpu": "8"})
TIME_SLICED = (
    {"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.replicas": "4"},
    {"nvidia.com/gpu": "8"},
)
RENAMED = (
    {"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.replicas": "3"},
    {"nvidia.com/gpu.shared": "6", "nvidia.com/gpu": "0"},
)
MIG_SINGLE = (
    {
        "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb",
        "nvidia.com/gpu.count": "56",
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/mig.strategy": "single",
    },
    {"nvidia.com/gpu": "56"},
)
MIG_MIXED = (
    {
        "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
        "nvidia.com/gpu.replicas": "0",
        "nvidia.com/mig-1g.10gb.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb",
        "nvidia.com/mig-1g.10gb.replicas": "1",
        "nvidia.com/mig.strategy": "mixed",
    },
    {"nvidia.com/gpu": "4", "nvidia.com/mig-1g.10gb": "14", "nvidia.com/mig-3g.40gb": "4"},
)
MIG_SHARED = (
    {
        "nvidia.com/mig-1g.10gb.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb-SHARED",
        "nvidia.com/mig-1g.10gb.replicas": "2",
    },
    {"nvidia.com/mig-1g.10gb": "14"},
)
AMD = ({"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}, {"amd.com/gpu": "8"})
AMD_COUNTED = ({"beta.amd.com/gpu.product-name.MI250X": "8"}, {"amd.com/gpu": "8"})
AMD_PARTITIONED = (
    {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"},
    {"amd.com/cpx_nps4": "64"},
)
GKE = ({"cloud.google.com/gke-accelerator": "nvidia-l4"}, {"nvidia.com/gpu": "2"})

Advertised = tuple[Mapping[str, str], Mapping[str, str | int]]
CASES: dict[str, tuple[Advertised, list[Offer]]] = {
    "whole GPUs": (WHOLE, [an_offer(H100, "nvidia.com/gpu", 8)]),
    "two GPUs in four slices each": (TIME_SLICED, [an_offer("Tesla-T4", "nvidia.com/gpu", 2, 250)]),
    "renamed slices": (RENAMED, [an_offer("Tesla-T4", "nvidia.com/gpu.shared", 2, 333)]),
    "MIG single": (
        MIG_SINGLE,
        [an_offer("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "nvidia.com/gpu", 56)],
    ),
    "MIG mixed": (
        MIG_MIXED,
        [
            an_offer("NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu", 4),
            an_offer("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "nvidia.com/mig-1g.10gb", 14),
            an_offer("NVIDIA-A100-SXM4-80GB-MIG-3g.40gb", "nvidia.com/mig-3g.40gb", 4),
        ],
    ),
    "MIG slices that are shared": (
        MIG_SHARED,
        [an_offer("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "nvidia.com/mig-1g.10gb", 7, 500)],
    ),
    "AMD": (AMD, [an_offer("AMD_Instinct_MI300X_OAM", "amd.com/gpu", 8)]),
    "AMD, older labeller": (AMD_COUNTED, [an_offer("MI250X", "amd.com/gpu", 8)]),
    "AMD partitions": (
        AMD_PARTITIONED,
        [an_offer("AMD_Instinct_MI300X_OAM-CPX-NPS4", "amd.com/cpx_nps4", 64)],
    ),
    "the cloud's own label": (GKE, [an_offer("nvidia-l4", "nvidia.com/gpu", 2)]),
    "NVIDIA without labels": (
        ({}, {"nvidia.com/gpu": "2"}),
        [an_offer("unknown-nvidia-gpu", "nvidia.com/gpu", 2)],
    ),
    "AMD without labels": (
        ({}, {"amd.com/gpu": "2"}),
        [an_offer("unknown-amd-gpu", "amd.com/gpu", 2)],
    ),
    "no GPU": (({}, {"cpu": "8", "nvidia.com/gpu": "0", "example.com/gpu": "3"}), []),
}


@pytest.mark.parametrize(
    ("node", "expected"),
    [pytest.param(a_node(*case), offers, id=name) for name, (case, offers) in CASES.items()],
)
def test_a_node_offers_what_its_device_plugin_and_labels_say(
    node: Node, expected: list[Offer]
) -> None:
    assert list(gpu_offers(node)) == expected


def test_what_is_allocatable_counts_and_not_the_capacity() -> None:
    node = a_node(WHOLE[0], {"nvidia.com/gpu": "7"}, {"nvidia.com/gpu": "8"})
    assert [offer.count for offer in gpu_offers(node)] == [7]


def test_capacity_counts_where_nothing_is_said_to_be_allocatable() -> None:
    assert [o.count for o in gpu_offers(a_node(WHOLE[0], {}, {"nvidia.com/gpu": "8"}))] == [8]


def test_shares_of_a_device_that_has_failed_are_not_offered() -> None:
    # The plugin withdraws all four replicas of the failed one, or fails half-way through that.
    assert [o.count for o in gpu_offers(a_node(TIME_SLICED[0], {"nvidia.com/gpu": "4"}))] == [1]
    assert [o.count for o in gpu_offers(a_node(TIME_SLICED[0], {"nvidia.com/gpu": "7"}))] == [1]


@pytest.mark.parametrize("replicas", ["", "none", "-2", "0", "1"])
def test_a_label_that_makes_no_sense_shares_nothing(replicas: str) -> None:
    node = a_node({**WHOLE[0], "nvidia.com/gpu.replicas": replicas}, {"nvidia.com/gpu": "8"})
    assert gpu_offers(node) == (an_offer(H100, "nvidia.com/gpu", 8),)


def test_a_share_stands_for_as_many_units_as_there_are_sharers() -> None:
    (offer,) = gpu_offers(a_node(*TIME_SLICED))
    assert offer.units_per_device == 4


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/gpu.shared", True),
        ("nvidia.com/mig-1g.5gb", True),
        ("nvidia.com/mig-1g.5gb.shared", True),
        ("amd.com/gpu", True),
        ("amd.com/dpx_nps2", True),
        ("nvidia.com/gpumem", False),
        ("amd.com/nic", False),
        ("example.com/gpu", False),
        ("cpu", False),
    ],
)
def test_gpu_resources_are_recognized_among_others(name: str, *, expected: bool) -> None:
    assert is_gpu_resource(name) is expected


@pytest.mark.parametrize("units", ["8193", "99999999999999999999999", "9E"])
def test_more_devices_than_any_node_has_are_refused(units: str) -> None:
    with pytest.raises(InvalidQuantity, match=r"gpu: .* than 8192"):
        gpu_offers(a_node({}, {"nvidia.com/gpu": units}))
