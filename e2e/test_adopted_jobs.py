"""A batch/v1 Job of somebody's own with one label: it really trains, gives way, and comes back."""

import pytest

from harness.gpu_nodes import Nodes
from harness.real_cluster import RealCluster
from harness.stand_ins import template
from harness.training_run import STEPS, a_batch_training_run, a_service
from support.clusters.scene import Scene
from support.clusters.workload_lives import (
    create_workload,
    read_workload,
    stand_in_of,
    until_no_pods,
    until_stood_for,
    until_workload,
)
from support.objects.batch_jobs import GATE
from support.objects.job_manifests import a_priority_class, a_training_job

WORKERS = 2


def test_a_job_that_trains_is_held_placed_preempted_and_goes_on_from_its_checkpoint(
    scene: Scene, cluster: RealCluster, gpu_nodes: Nodes, trainer: str, image: str
) -> None:
    if cluster.shared is None:
        pytest.skip("PLIMSOLL_SHARED_FOLDER names no folder that the given cluster's nodes see")
    gpu_nodes.offer(1, 1)
    run = a_batch_training_run(
        f"train-{scene.namespace}",
        workers=WORKERS,
        shared=cluster.shared,
        image=trainer,
        step_seconds=0.1,
    )
    name = run.job["metadata"]["name"]
    services = f"/api/v1/namespaces/{scene.namespace}/services"
    scene.api.create(services, a_service(name))
    create_workload(scene, run.job)
    spec = read_workload(scene, run.job)["spec"]
    assert spec["suspend"], "the admission policy has held it"
    assert spec["template"]["spec"]["schedulingGates"] == [{"name": GATE}]

    until_stood_for(scene, run.job)
    first = run.goes_on(starts=1)
    assert (first.step, first.workers) == (0, WORKERS)
    assert sorted(scene.running(stand_in_of(run.job)).nodes) == sorted(gpu_nodes.names)

    pods = template(image)
    urgent = a_training_job("urgent", workers=2, priorityClassName="urgent", template=pods)
    scene.apply(a_priority_class("urgent", 1000), urgent)
    scene.running(urgent)
    until_workload(scene, run.job, "Suspended")
    until_no_pods(scene, run.job)
    scene.delete(urgent)
    second = run.goes_on(starts=2)
    assert second.step == second.done_before == second.saved_before, "no step was lost"

    until_workload(scene, run.job, "Complete")
    scene.until(stand_in_of(run.job), reason="Completed")
    assert set(run.steps) == set(range(1, STEPS + 1))
    reasons = {event["reason"] for event in scene.all_events(run.job)}
    assert {"Adopted", "Admitted", "Preempted", "Completed"} <= reasons
