"""batch/v1 Jobs with one label, in a real cluster with Kubernetes' own Job controller."""

from plimsoll_devcluster.fake_nodes import fake_node
from support.clusters.adopted_lives import (
    a_batch_job,
    adopted,
    pods_made,
    stand_in,
    there,
    until_condition,
    until_suspended,
)
from support.clusters.scene import Scene
from support.objects.job_manifests import a_priority_class, a_training_job

OPERATOR_ENVIRONMENT = {"PLIMSOLL_ADOPTS_JOBS": "true"}


def test_a_held_job_is_placed_where_the_plan_says(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2), fake_node("b", gpus=1))
    job = a_batch_job(workers=3)
    running = scene.running(adopted(scene, job))
    assert sorted(running.nodes) == ["a", "a", "b"]
    assert len(pods_made(scene, job)) == 3
    assert not there(scene, job)["spec"]["suspend"]


def test_a_job_that_is_preempted_comes_back_and_completes(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    job = a_batch_job(workers=2)
    first = scene.running(adopted(scene, job))
    urgent = a_training_job("urgent", workers=2, priorityClassName="urgent")
    scene.apply(a_priority_class("urgent", 1000), urgent)
    scene.running(urgent)
    until_suspended(scene, job)
    scene.delete(urgent)
    second = scene.running(stand_in(job))
    assert not first.uids & second.uids
    for pod in second.pods:
        path = scene.path("Pod", pod["metadata"]["name"])
        scene.api.merge(path, {"metadata": {"annotations": {"plimsoll.dev/test-run-seconds": "0"}}})
    until_condition(scene, job, "Complete")
    scene.until(stand_in(job), reason="Completed")
