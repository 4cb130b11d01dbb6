"""JobSets, TrainJobs and PyTorchJobs with one label, in a real cluster with their own controllers."""

from collections.abc import Callable, Iterator

import pytest

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.adopted_lives import end
from support.clusters.adoption_policy import workloads_policy
from support.clusters.scene import SECONDS, Scene
from support.clusters.workload_lives import (
    create_workload,
    until_no_pods,
    until_workload,
)
from support.objects.batch_jobs import QUEUE
from support.objects.job_manifests import a_priority_class, a_training_job
from support.objects.workloads import a_jobset, a_pytorch_job, a_train_job

OPERATOR_ENVIRONMENT = {"PLIMSOLL_ADOPTS_JOBS": "true"}
pytestmark = pytest.mark.usefixtures(
    "jobset_controller", "trainer_controller", "training_operator", "policy"
)
MADE: dict[str, Callable[[], Manifest]] = {
    "JobSet": lambda: a_jobset(workers=2),
    "TrainJob": lambda: a_train_job(workers=2),
    "PyTorchJob": lambda: a_pytorch_job(workers=1),
}
"""A workload of two pods with a GPU each."""
ENDS = {"JobSet": "Completed", "TrainJob": "Complete", "PyTorchJob": "Succeeded"}


@pytest.fixture(scope="module")
def policy(control_plane: Cluster, jobset_controller: object) -> Iterator[None]:
    del jobset_controller  # serves the kind of the probe
    collection = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
    with workloads_policy(control_plane.api, collection, labelled(a_jobset("probe"))):
        yield


@pytest.fixture(params=MADE)
def workload(request: pytest.FixtureRequest) -> Manifest:
    """A labelled workload of each kind."""
    return labelled(MADE[request.param]())


def labelled(workload: Manifest, queue: str = "default", **annotations: str) -> Manifest:
    said = {f"plimsoll.dev/{key}": value for key, value in annotations.items()}
    meta = {**workload["metadata"], "labels": {QUEUE: queue}, "annotations": said}
    return {**workload, "metadata": meta}


def stand_in(workload: Manifest) -> Manifest:
    name = f"{workload['kind'].lower()}-{workload['metadata']['name']}"
    return {"kind": "TrainingJob", "metadata": {"name": name}}


def stand_in_path(scene: Scene, workload: Manifest) -> str:
    return scene.path("TrainingJob", stand_in(workload)["metadata"]["name"])


def adopted(scene: Scene, workload: Manifest) -> Manifest:
    create_workload(scene, workload)
    wait_until(
        lambda: scene.api.exists(stand_in_path(scene, workload)),
        timeout_seconds=SECONDS,
        what=f"a TrainingJob stands for the {workload['kind']}",
    )
    return stand_in(workload)


def test_it_is_held_placed_where_the_plan_says_preempted_and_completes(
    scene: Scene, workload: Manifest
) -> None:
    scene.add_nodes(fake_node("a", gpus=1), fake_node("b", gpus=1))
    first = scene.running(adopted(scene, workload))
    assert sorted(first.nodes) == ["a", "b"]
    urgent = a_training_job("urgent", workers=2, priorityClassName="urgent")
    scene.apply(a_priority_class("urgent", 1000), urgent)
    scene.running(urgent)
    until_workload(scene, workload, "Suspended")
    until_no_pods(scene, workload)
    scene.delete(urgent)
    second = scene.running(stand_in(workload))
    assert not first.uids & second.uids
    for pod in second.pods:
        end(scene, pod)
    until_workload(scene, workload, ENDS[workload["kind"]])
    scene.until(stand_in(workload), reason="Completed")
    assert scene.operator.metric("plimsoll_plans_refused_total") in (None, 0)
