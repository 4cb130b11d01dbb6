"""A namespace or a queue with too many jobs has the youngest wait, and nobody else's."""

from plimsoll.api.definition import API_VERSION
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.scene import Scene
from support.objects.job_manifests import a_queue, a_training_job

TOO_MANY = "TooManyJobs"


def a_policy(most: int) -> Manifest:
    return {
        "apiVersion": API_VERSION,
        "kind": "PlacementPolicy",
        "metadata": {"name": "default"},
        "spec": {"maxJobsPerNamespace": most},
    }


def test_who_is_too_many_of_a_namespace_waits_until_others_end_or_more_are_allowed(
    scene: Scene,
) -> None:
    scene.add_nodes(fake_node("node", gpus=8))
    scene.apply(a_policy(2))
    first, second, third = (a_training_job(name) for name in ("first", "second", "third"))
    for job in (first, second):
        scene.apply(job)
        scene.running(job)
    scene.apply(third)
    held = scene.until(third, reason=TOO_MANY)
    assert f"namespace {scene.namespace} has more than 2 jobs" in held["message"]
    before = scene.running(first).uids
    scene.apply(a_policy(1))
    fourth = a_training_job("fourth")
    scene.apply(fourth)
    scene.until(fourth, reason=TOO_MANY)
    assert scene.running(first).uids == before, "what runs keeps its place"
    scene.apply(a_policy(4))
    scene.running(third)
    scene.running(fourth)
    assert scene.operator.metric("plimsoll_loop_errors_total") == 0


def test_who_is_too_many_of_a_queue_waits_and_jobs_of_other_queues_run(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=8))
    scene.apply(a_queue("small", maxJobs=1), a_queue("large"))
    first, second = (a_training_job(name, queue="small") for name in ("first", "second"))
    scene.apply(first)
    scene.running(first)
    scene.apply(second)
    held = scene.until(second, reason=TOO_MANY)
    assert "have maxJobs of JobQueue small raised" in held["message"]
    other = a_training_job("other", queue="large")
    scene.apply(other)
    scene.running(other)
    scene.edit(first, {"suspend": True})
    scene.running(second)
