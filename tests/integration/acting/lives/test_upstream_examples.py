"""Examples of the upstream projects, as their own releases have them, with one label added."""

from typing import Final

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.programs.workload_controllers import (
    APPWRAPPER,
    KUBERAY,
    TRAINER,
    TRAINING_OPERATOR,
    ControllerProgram,
)
from support.clusters.scene import Scene
from support.clusters.upstream_examples import upstream_example
from support.clusters.workload_lives import (
    adopted,
    create_workload,
    until_pods_run,
    workload_path,
)
from support.objects.batch_jobs import GATE
from support.objects.job_manifests import a_queue
from support.objects.workloads import asking, suspended

OPERATOR_ENVIRONMENT = {"PLIMSOLL_ADOPTS_JOBS": "true"}
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("all_controllers")]

A_GPU: Final = {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 1}}}


def labelled(program: ControllerProgram, file: str) -> Manifest:
    """The workload in a file of a release, with our label and nothing else changed."""
    return asking(upstream_example(program, file), queue="research")


@pytest.fixture
def queue(scene: Scene) -> None:
    scene.apply(a_queue("research"))


@pytest.mark.usefixtures("queue")
@pytest.mark.parametrize("file", ["pytorch_job_mnist_gloo.yaml", "pytorch_job_mnist_nccl.yaml"])
def test_the_pytorchjobs_of_training_operator_are_planned(scene: Scene, file: str) -> None:
    scene.add_nodes(fake_node("a", gpus=1), fake_node("b", gpus=1))
    workload = suspended(labelled(TRAINING_OPERATOR, f"mnist/v1/{file}"))
    assert sorted(scene.running(adopted(scene, workload)).nodes) == ["a", "b"]


@pytest.mark.usefixtures("queue")
def test_a_raycluster_of_kuberay_with_gpus_in_its_head_is_planned(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=4))
    workload = suspended(labelled(KUBERAY, "ray-cluster.verl.yaml"))
    assert scene.running(adopted(scene, workload)).nodes == ["a"]


@pytest.mark.usefixtures("queue")
def test_a_rayjob_of_kuberay_is_planned_once_its_cluster_is_to_end_with_it(scene: Scene) -> None:
    t4 = {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"}
    scene.add_nodes(*(fake_node(name, gpus=4, labels=t4) for name in "ab"))
    workload = labelled(KUBERAY, "ray-job.batch-inference.yaml")
    create_workload(scene, workload)
    (event,) = scene.events(workload, "InvalidSpec")
    assert "spec.shutdownAfterJobFinishes: " in event["note"]
    workload["metadata"]["name"] = "ends"
    workload["spec"]["shutdownAfterJobFinishes"] = True
    assert len(scene.running(adopted(scene, suspended(workload))).nodes) == 1


@pytest.mark.usefixtures("queue")
def test_the_appwrapper_of_a_job_with_gpus_is_planned_once_it_is_not_kueues(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=4))
    workload = suspended(labelled(APPWRAPPER, "wrapped-gpu-job.yaml"))
    create_workload(scene, workload)
    (event,) = scene.events(workload, "ManagedElsewhere")
    assert "kueue.x-k8s.io/queue-name" in event["note"]
    workload["metadata"]["name"] = "planned"
    del workload["metadata"]["labels"]["kueue.x-k8s.io/queue-name"]
    workload["spec"]["components"][0]["template"]["metadata"]["name"] = "planned"
    assert scene.running(adopted(scene, workload)).nodes == ["a"]


@pytest.mark.usefixtures("queue")
def test_the_trainjob_of_trainer_is_planned_once_it_asks_for_gpus(scene: Scene) -> None:
    scene.add_nodes(*(fake_node(name, gpus=1) for name in "abc"))
    workload = suspended(labelled(TRAINER, "01-multi-node.yaml"))
    workload["spec"]["trainer"] |= A_GPU
    assert sorted(scene.running(adopted(scene, workload)).nodes) == ["a", "b", "c"]


@pytest.mark.usefixtures("queue")
@pytest.mark.parametrize(
    ("program", "file", "pods"),
    [
        pytest.param(KUBERAY, "ray-cluster.sample.yaml", 2, id="RayCluster"),
        pytest.param(TRAINER, "01-multi-node.yaml", 3, id="TrainJob"),
    ],
)
def test_one_without_gpus_runs_as_without_the_label_and_is_told_why(
    scene: Scene, program: ControllerProgram, file: str, pods: int
) -> None:
    scene.add_nodes(fake_node("a", gpus=1))
    workload = labelled(program, file)
    create_workload(scene, workload)
    (event,) = scene.events(workload, "InvalidSpec")
    assert "asks for no GPU: set nvidia.com/gpu" in event["note"]
    until_pods_run(scene, workload, pods)
    assert GATE not in str(scene.api.get(workload_path(scene, workload)))
