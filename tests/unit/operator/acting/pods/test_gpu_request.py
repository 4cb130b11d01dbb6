import pytest

from plimsoll.acting.pods.gpu_request import assignments, pod_placements
from plimsoll.api.parts.placement import Assignment
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import Assignment as Replica
from plimsoll_placement.model import GpuType, NodeName, RoleName
from support.clusters.seen import seen
from support.clusters.simulated_cluster import SimulatedCluster
from support.objects.job_manifests import a_pool, a_training_job

WHOLE = fake_node("whole", gpus=8)
SHARED = fake_node("shared", gpus=2, replicas=4)
MIXED = fake_node("mixed", A100, 2, resources={"nvidia.com/mig-1g.10gb": "7"})
MIG_1G = f"{A100}-MIG-1g.10gb"
RENAMED = a_pool("renamed", {"type": "kwok"}, gpuType="our-gpu")


def requested(
    node: Manifest, gpus: int | str, *more: Manifest, gpu_type: str = H100
) -> tuple[str, int] | None:
    """What the pod of a worker with so many GPUs asks of a node."""
    snapshot = seen(node, a_training_job("train", gpus=gpus), *more)
    (view,) = snapshot.jobs
    name = node["metadata"]["name"]
    place = Assignment(
        role="worker", replica=0, nodes=(name,), pool="", accelerator_type=gpu_type, revision=1
    )
    placements = pod_placements(snapshot, view.resource, place)
    return None if placements is None else (placements[0].gpu_resource, placements[0].gpu_units)


@pytest.mark.parametrize(
    ("node", "gpus", "expected"),
    [
        (WHOLE, 4, ("nvidia.com/gpu", 4)),
        (WHOLE, "0.5", None),
        (SHARED, "0.25", ("nvidia.com/gpu", 1)),
        (SHARED, "0.1", ("nvidia.com/gpu", 1)),
        (SHARED, "0.5", None),
        (SHARED, 1, None),
    ],
)
def test_a_pod_asks_for_its_gpus_the_way_its_node_offers_them(
    node: Manifest, gpus: int | str, expected: tuple[str, int] | None
) -> None:
    assert requested(node, gpus) == expected


def test_where_a_node_offers_another_type_now_there_is_no_placement() -> None:
    assert requested(fake_node("other", "Tesla-T4", 8), 1) is None


def test_a_pool_may_call_its_type_as_it_likes() -> None:
    pool = a_pool("renamed", {"kubernetes.io/hostname": "other"}, gpuType=H100)
    assert requested(fake_node("other", "Tesla-T4", 8), 1, pool) == ("nvidia.com/gpu", 1)


@pytest.mark.parametrize(
    ("gpu_type", "expected"),
    [(MIG_1G, ("nvidia.com/mig-1g.10gb", 1)), (A100, ("nvidia.com/gpu", 1)), ("our-gpu", None)],
)
def test_a_pool_does_not_rename_the_several_types_of_a_mixed_node(
    gpu_type: str, expected: tuple[str, int] | None
) -> None:
    assert requested(MIXED, 1, RENAMED, gpu_type=gpu_type) == expected


def test_a_job_on_mig_slices_of_a_mixed_node_gets_its_pod_whatever_its_pool_calls_gpus() -> None:
    cluster = SimulatedCluster(Effort(0))
    job = a_training_job("train", rates={MIG_1G: 1})
    for manifest in (MIXED, RENAMED, job):
        cluster.apply(manifest)
    cluster.turn()
    (pod,) = cluster.pods.values()
    assert pod.spec.node_name == "mixed"
    assert pod.spec.containers[0].resources.limits == {"nvidia.com/mig-1g.10gb": 1}


def test_places_are_written_down_by_role_and_replica_with_their_pools() -> None:
    snapshot = seen(WHOLE, SHARED, a_pool("big", {"kubernetes.io/hostname": "whole"}))
    planned = tuple(
        Replica(RoleName(role), replica, GpuType(H100), (NodeName(node),))
        for role, replica, node in (("b", 0, "whole"), ("a", 1, "shared"), ("a", 0, "whole"))
    )
    places = assignments(snapshot, planned, 7)
    assert [(each.role, each.replica, each.pool) for each in places] == [
        ("a", 0, "big"),
        ("a", 1, ""),
        ("b", 0, "big"),
    ]
    assert {each.revision for each in places} == {7}
