"""The controllers of other workload kinds, as they run beside the tests' control plane."""

import copy

import pytest

from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_lives import end
from support.clusters.scene import Scene
from support.clusters.workload_lives import (
    change_workload,
    create_workload,
    suspension,
    until_no_pods,
    until_pods_run,
    until_workload,
    workload_pods,
)
from support.objects.workloads import a_jobset


@pytest.fixture
def cluster(api: ApiServer, namespace: str) -> Scene:
    """A namespace in a cluster with a node."""
    scene = Scene(api, namespace)
    scene.add_nodes(fake_node("a", gpus=8))
    return scene


def lives(cluster: Scene, workload: Manifest, *, pods: int, ended: str) -> None:
    """Have a workload made suspended, resumed, suspended, resumed again, and completed."""
    held = copy.deepcopy(workload)
    held["spec"] |= suspension(workload, suspended=True)
    create_workload(cluster, held)
    until_workload(cluster, held, "Suspended")
    assert not workload_pods(cluster, held)
    change_workload(cluster, held, suspension(held, suspended=False))
    first = until_pods_run(cluster, held, pods)
    change_workload(cluster, held, suspension(held, suspended=True))
    until_no_pods(cluster, held)
    change_workload(cluster, held, suspension(held, suspended=False))
    second = until_pods_run(cluster, held, pods)
    assert not uids(first) & uids(second)
    for pod in second:
        end(cluster, pod)
    until_workload(cluster, held, ended)


def uids(pods: list[Manifest]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}


@pytest.mark.usefixtures("jobset_controller")
def test_a_jobset_is_suspended_resumed_and_completes(cluster: Scene) -> None:
    lives(cluster, a_jobset(workers=3, gpus=1), pods=3, ended="Completed")


@pytest.mark.usefixtures("jobset_controller")
def test_a_jobset_with_a_name_too_long_is_refused(cluster: Scene) -> None:
    with pytest.raises(ApiServerRefusedError, match=r"vjobset\.kb\.io.*too long"):
        create_workload(cluster, a_jobset("j" * 60))
