"""The controllers of other workload kinds, as they run beside the tests' control plane."""

import copy

import pytest

from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.programs.workload_controllers import KUBERAY, TRAINER, TRAINING_OPERATOR
from plimsoll_devcluster.waiting import wait_until
from plimsoll_devcluster.workload_controllers.controller import WorkloadController
from support.clusters.scene import SECONDS, Scene
from support.clusters.upstream_examples import upstream_example
from support.clusters.workload_lives import (
    change_workload,
    create_workload,
    end,
    suspension,
    until_no_pods,
    until_pods_run,
    until_workload,
    workload_pods,
)
from support.objects.workloads import (
    a_jobset,
    a_pytorch_job,
    a_ray_cluster,
    a_torch_jobset,
    a_train_job,
    an_app_wrapper,
    suspended,
)

pytestmark = pytest.mark.slow

SUSPENDED_RAY = "RayClusterSuspended"


@pytest.fixture
def cluster(api: ApiServer, namespace: str) -> Scene:
    """A namespace in a cluster with a node."""
    scene = Scene(api, namespace)
    scene.add_nodes(fake_node("a", gpus=8))
    return scene


def lives(cluster: Scene, workload: Manifest, *, pods: int, ended: str) -> None:
    """Have a workload made suspended, resumed, suspended, resumed again, and completed."""
    for pod in goes_on(cluster, workload, pods=pods):
        end(cluster, pod)
    until_workload(cluster, workload, ended)


def goes_on(
    cluster: Scene, workload: Manifest, *, pods: int, suspended: str = "Suspended"
) -> list[Manifest]:
    """Have a workload made suspended, resumed, suspended and resumed again; its pods.

    It is resumed only once its controller says that it is suspended, as the operator does: KubeRay
    may miss it before.
    """
    held = copy.deepcopy(workload)
    held["spec"] |= suspension(workload, suspended=True)
    create_workload(cluster, held)
    until_workload(cluster, held, suspended)
    assert not workload_pods(cluster, held)
    change_workload(cluster, held, suspension(held, suspended=False))
    first = until_pods_run(cluster, held, pods)
    change_workload(cluster, held, suspension(held, suspended=True))
    until_no_pods(cluster, held)
    until_workload(cluster, held, suspended)
    change_workload(cluster, held, suspension(held, suspended=False))
    second = until_pods_run(cluster, held, pods)
    assert not uids(first) & uids(second)
    return second


def uids(pods: list[Manifest]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}


@pytest.mark.usefixtures("jobset_controller")
def test_a_jobset_is_suspended_resumed_and_completes(cluster: Scene) -> None:
    lives(cluster, a_jobset(workers=3, gpus=1), pods=3, ended="Completed")


@pytest.mark.usefixtures("jobset_controller")
def test_a_jobset_that_asks_for_no_gpus_runs_too(cluster: Scene) -> None:
    lives(cluster, a_torch_jobset(), pods=4, ended="Completed")


@pytest.mark.usefixtures("jobset_controller")
def test_a_jobset_with_a_name_too_long_is_refused(cluster: Scene) -> None:
    with pytest.raises(ApiServerRefusedError, match=r"vjobset\.kb\.io.*too long"):
        create_workload(cluster, a_jobset("j" * 60))


@pytest.mark.usefixtures("training_operator")
def test_a_pytorch_job_is_suspended_resumed_and_completes(cluster: Scene) -> None:
    lives(cluster, a_pytorch_job(workers=2, gpus=1), pods=3, ended="Succeeded")


@pytest.mark.usefixtures("training_operator")
def test_the_pytorch_job_that_kubeflow_shows_to_beginners_runs(cluster: Scene) -> None:
    lives(cluster, upstream_example(TRAINING_OPERATOR, "simple.yaml"), pods=2, ended="Succeeded")


@pytest.mark.usefixtures("training_operator")
def test_a_pytorch_job_without_a_container_called_pytorch_is_refused(cluster: Scene) -> None:
    container = {"name": "main", "image": "none"}
    job = a_pytorch_job(pod={"containers": [container]})
    with pytest.raises(ApiServerRefusedError, match="at least one container with name pytorch"):
        create_workload(cluster, job)


def test_one_that_is_stopped_refuses_nothing_until_it_runs_again(
    cluster: Scene, training_operator: WorkloadController
) -> None:
    wrong = a_pytorch_job(pod={"containers": [{"name": "main", "image": "none"}]})
    training_operator.stop()
    create_workload(cluster, wrong)
    training_operator.start()
    with pytest.raises(ApiServerRefusedError):
        create_workload(cluster, {**wrong, "metadata": {"name": "another"}})


@pytest.mark.usefixtures("trainer_controller")
def test_a_train_job_is_suspended_resumed_and_completes(cluster: Scene) -> None:
    lives(cluster, a_train_job(workers=2, gpus=1), pods=2, ended="Complete")


@pytest.mark.usefixtures("trainer_controller")
def test_the_train_job_that_kubeflow_shows_to_beginners_runs(cluster: Scene) -> None:
    lives(cluster, upstream_example(TRAINER, "01-multi-node.yaml"), pods=3, ended="Complete")


@pytest.mark.usefixtures("trainer_controller")
def test_a_train_job_of_an_unknown_runtime_is_refused(cluster: Scene) -> None:
    job = a_train_job(runtimeRef={"name": "none"})
    with pytest.raises(ApiServerRefusedError, match=r"validator\.trainjob.*denied the request"):
        create_workload(cluster, job)


@pytest.mark.usefixtures("kuberay_operator")
def test_a_ray_cluster_is_suspended_and_resumed(cluster: Scene) -> None:
    goes_on(cluster, a_ray_cluster(workers=2), pods=3, suspended=SUSPENDED_RAY)


@pytest.mark.usefixtures("kuberay_operator")
def test_the_ray_cluster_that_kuberay_shows_to_beginners_runs(cluster: Scene) -> None:
    goes_on(
        cluster,
        upstream_example(KUBERAY, "ray-cluster.sample.yaml"),
        pods=2,
        suspended=SUSPENDED_RAY,
    )


@pytest.mark.usefixtures("kuberay_operator")
def test_workers_of_a_ray_cluster_are_numbered_and_another_takes_the_number_of_a_lost_one(
    cluster: Scene,
) -> None:
    workload = a_ray_cluster(workers=3)
    create_workload(cluster, workload)
    before = by_number(until_pods_run(cluster, workload, 4))
    assert sorted(before) == ["0", "1", "2"]
    lost = before["1"]["metadata"]
    cluster.api.delete(cluster.path("Pod", lost["name"]))
    wait_until(
        lambda: lost["uid"] not in uids(workload_pods(cluster, workload)),
        timeout_seconds=SECONDS,
        what="the pod is gone",
    )
    after = by_number(until_pods_run(cluster, workload, 4))
    assert sorted(after) == ["0", "1", "2"]
    assert [number for number in after if uids([after[number]]) != uids([before[number]])] == ["1"]


def by_number(pods: list[Manifest]) -> dict[str, Manifest]:
    """The workers of a RayCluster's only group."""
    label = "ray.io/worker-group-replica-index"
    found = {pod["metadata"]["labels"].get(label): pod for pod in pods}
    return {number: pod for number, pod in found.items() if number is not None}


@pytest.mark.usefixtures("appwrapper_controller")
def test_an_app_wrapper_is_suspended_resumed_and_completes(cluster: Scene) -> None:
    lives(cluster, an_app_wrapper(workers=2, gpus=1), pods=2, ended="Succeeded")


@pytest.mark.usefixtures("appwrapper_controller")
def test_what_an_app_wrapper_wraps_never_changes(cluster: Scene) -> None:
    workload = suspended(an_app_wrapper())
    create_workload(cluster, workload)
    wider = an_app_wrapper(workers=3)["spec"]
    with pytest.raises(ApiServerRefusedError, match="attempt to change immutable field"):
        change_workload(cluster, workload, wider)
