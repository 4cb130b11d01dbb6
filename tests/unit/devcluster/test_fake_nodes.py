from collections import Counter

from plimsoll_devcluster.fake_nodes import RACK, demo_nodes, fake_node


def test_a_node_carries_the_labels_of_gpu_feature_discovery() -> None:
    labels = fake_node("n", "Tesla-T4", 4)["metadata"]["labels"]
    assert labels["nvidia.com/gpu.product"] == "Tesla-T4"
    assert labels["nvidia.com/gpu.count"] == "4"
    assert labels["nvidia.com/gpu.memory"] == "15360"
    assert labels["nvidia.com/gpu.replicas"] == "1"


def test_shared_gpus_are_offered_once_for_each_replica() -> None:
    node = fake_node("n", "NVIDIA-L4", 2, replicas=4)
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    labels = node["metadata"]["labels"]
    assert labels["nvidia.com/gpu.count"] == "2"
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-L4-SHARED"


def test_a_node_without_gpus_claims_none() -> None:
    node = fake_node("n", gpus=0, resources={"amd.com/gpu": "8"})
    assert node["status"]["capacity"]["amd.com/gpu"] == "8"
    assert not [label for label in node["metadata"]["labels"] if label.startswith("nvidia.com")]


def test_the_demo_has_its_gpus_in_both_racks() -> None:
    gpus: Counter[str] = Counter()
    racks: dict[str, set[str]] = {}
    for node in demo_nodes():
        labels = node["metadata"]["labels"]
        product = labels["nvidia.com/gpu.product"]
        gpus[product] += int(node["status"]["allocatable"]["nvidia.com/gpu"])
        racks.setdefault(product, set()).add(labels[RACK])
    assert gpus == {
        "NVIDIA-H100-80GB-HBM3": 32,
        "NVIDIA-A100-SXM4-80GB": 48,
        "NVIDIA-L4": 24,
        "Tesla-T4": 4,
    }
    assert all(names == {"rack-a", "rack-b"} for names in racks.values())
