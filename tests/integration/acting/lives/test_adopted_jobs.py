"""What only batch/v1 Jobs can do; what all kinds can is in test_adopted_workloads.py."""

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import SECONDS, Scene
from support.clusters.target_lives import nodes_of
from support.clusters.workload_lives import (
    adopted,
    create_workload,
    end,
    patch_workload,
    read_workload,
    stand_in_of,
    stand_in_path,
    until_no_pods,
    until_size,
    until_stood_for,
    until_workload,
    workload_path,
    workload_pods,
)
from support.objects.batch_jobs import GATE, QUEUE, a_batch_job
from support.objects.job_manifests import a_training_job

OPERATOR_ENVIRONMENT = {"PLIMSOLL_ADOPTS_JOBS": "true"}


def until_let_go(scene: Scene, job: Manifest) -> None:
    """Wait until a Job may run without us, and nothing stands for it."""

    def is_free() -> bool:
        spec = read_workload(scene, job)["spec"]
        gates = spec["template"]["spec"].get("schedulingGates")
        return not (spec["suspend"] or gates or scene.api.exists(stand_in_path(scene, job)))

    name = job["metadata"]["name"]
    wait_until(is_free, timeout_seconds=SECONDS, what=f"{name} is let go")


def until_other_pods(scene: Scene, job: Manifest, *, but: set[str]) -> list[Manifest]:
    """Wait until as many pods run as a Job wants, none of them one of these; the pods."""

    def are_there() -> list[Manifest] | None:
        running = [
            pod
            for pod in workload_pods(scene, job)
            if pod.get("status", {}).get("phase") == "Running" and pod["metadata"]["uid"] not in but
        ]
        wanted = read_workload(scene, job)["spec"]["parallelism"]
        return running if len(running) == wanted else None

    what = f"other pods of {job['metadata']['name']} run"
    return wait_until(are_there, timeout_seconds=SECONDS, what=what) or []


def test_a_job_that_was_suspended_by_its_user_is_held_too_and_planned(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    job = a_batch_job(held=False, suspend=True)
    scene.running(adopted(scene, job))
    gates = read_workload(scene, job)["spec"]["template"]["spec"]["schedulingGates"]
    assert gates == [{"name": GATE}]


def test_a_job_that_runs_already_is_left_as_it_is_until_it_is_suspended(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    job = a_batch_job(held=False)
    create_workload(scene, job)
    (event,) = scene.events(job, "AlreadyRuns")
    assert "set spec.suspend of the Job to true" in event["note"]
    assert not scene.api.exists(stand_in_path(scene, job))
    patch_workload(scene, job, {"spec": {"suspend": True}})
    until_stood_for(scene, job)
    scene.running(stand_in_of(job))


@pytest.mark.slow
def test_a_pod_that_fails_is_made_again_by_its_job_and_goes_where_it_was(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=1), fake_node("b", gpus=1))
    job = a_batch_job(workers=2)
    before = scene.running(adopted(scene, job))
    first = before.pods[0]
    end(scene, first, failed=True)
    after = until_other_pods(scene, job, but={first["metadata"]["uid"]})
    assert {pod["spec"]["nodeName"] for pod in after} == {"a", "b"}
    kept = before.pods[1]["metadata"]["uid"]
    assert kept in {pod["metadata"]["uid"] for pod in after}
    scene.until(stand_in_of(job), restarts=1)


def test_a_work_queue_runs_one_pod_after_the_other_in_its_places(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    job = a_batch_job(
        workers=2,
        completions=5,
        completionMode="NonIndexed",
        pod_annotations={"plimsoll.dev/test-run-seconds": "0"},
    )
    adopted(scene, job)
    found = until_workload(scene, job, "Complete")
    assert found["status"]["succeeded"] == 5
    scene.until(stand_in_of(job), reason="Completed")
    assert scene.operator.metric("plimsoll_plans_refused_total") in (None, 0)


@pytest.mark.slow
def test_the_stand_in_goes_even_if_what_belongs_to_its_job_is_left(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=1))
    job = a_batch_job(workers=1)
    scene.running(adopted(scene, job))
    scene.api.delete(f"{workload_path(scene, job)}?propagationPolicy=Orphan")
    wait_until(
        lambda: not scene.api.exists(stand_in_path(scene, job)),
        timeout_seconds=SECONDS,
        what="the stand-in is gone",
    )


@pytest.mark.slow
def test_a_stand_in_that_somebody_deletes_is_made_again_and_the_job_starts_anew(
    scene: Scene,
) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    job = a_batch_job()
    before = scene.running(adopted(scene, job))
    uid = scene.api.get(stand_in_path(scene, job))["metadata"]["uid"]
    scene.delete(stand_in_of(job))
    wait_until(
        lambda: (
            scene.api.exists(stand_in_path(scene, job))
            and scene.api.get(stand_in_path(scene, job))["metadata"]["uid"] != uid
        ),
        timeout_seconds=SECONDS,
        what="there is another stand-in",
    )
    assert not before.uids & scene.running(stand_in_of(job)).uids


def test_a_stand_in_that_is_suspended_stops_its_job_and_resumes_it(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    job = a_batch_job()
    scene.running(adopted(scene, job))
    scene.edit(stand_in_of(job), {"suspend": True})
    until_workload(scene, job, "Suspended")
    until_no_pods(scene, job)
    scene.edit(stand_in_of(job), {"suspend": False})
    scene.running(stand_in_of(job))


@pytest.mark.slow
def test_a_gang_moves_off_a_node_that_is_cordoned_and_drained(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2), fake_node("b", gpus=2))
    # KWOK ends no pod that is deleted, so its Job is not to wait for that.
    job = a_batch_job(podReplacementPolicy="TerminatingOrFailed")
    first = scene.running(adopted(scene, job))
    (home,) = set(first.nodes)
    scene.node(home, {"spec": {"unschedulable": True}})
    for pod in first.pods:
        scene.api.delete(scene.path("Pod", pod["metadata"]["name"]))
    other = ({"a", "b"} - {home}).pop()
    wait_until(
        lambda: set(nodes_of(workload_pods(scene, job))) == {other},
        timeout_seconds=SECONDS,
        what=f"all pods are on {other}",
    )
    assert set(scene.running(stand_in_of(job)).nodes) == {other}


@pytest.mark.slow
def test_a_job_that_no_longer_asks_goes_on_by_itself(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    waits, runs = a_batch_job("waits", workers=4), a_batch_job("runs", workers=2)
    adopted(scene, waits)
    scene.until(stand_in_of(waits), reason="CannotFit")
    before = scene.running(adopted(scene, runs))
    for job in (waits, runs):
        patch_workload(scene, job, {"metadata": {"labels": {QUEUE: None}}})
    until_let_go(scene, waits)
    assert len(workload_pods(scene, waits)) == 4
    scene.events(runs, "Adopted")
    assert scene.running(stand_in_of(runs)).uids == before.uids
    patch_workload(scene, runs, {"spec": {"suspend": True}})
    until_let_go(scene, runs)


def test_what_is_wrong_is_said_of_the_job_and_it_is_left_as_it_was(scene: Scene) -> None:
    size = {"workers.min": "1", "workers.max": "4"}
    fixed = a_batch_job("fixed", annotations=size, completions=8)
    managed = a_batch_job("managed", managedBy="example.com/controller")
    said = [
        (fixed, "InvalidSpec", "cannot change its size: set completionMode to Indexed"),
        (managed, "ManagedElsewhere", "spec.managedBy example.com/controller"),
    ]
    for job, reason, words in said:
        create_workload(scene, job)
        (event,) = scene.events(job, reason)
        assert words in event["note"]
        assert not scene.api.exists(stand_in_path(scene, job))
        assert read_workload(scene, job)["spec"]["suspend"]


@pytest.mark.slow
def test_a_job_that_changes_its_shape_while_it_runs_goes_on_as_it_was(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=4))
    job = a_batch_job(workers=2)
    before = scene.running(adopted(scene, job))
    patch_workload(scene, job, {"spec": {"parallelism": 3, "completions": 3}})
    (event,) = scene.events(job, "ShapeChanged")
    assert "the Job's parallelism changed while it runs" in event["note"]
    assert scene.running(stand_in_of(job)).uids == before.uids
    scene.edit(stand_in_of(job), {"suspend": True})
    until_size(scene, stand_in_of(job), 3)


@pytest.mark.slow
def test_a_training_job_that_only_claims_to_stand_for_a_job_holds_nothing(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    job = a_batch_job()
    scene.running(adopted(scene, job))
    uid = read_workload(scene, job)["metadata"]["uid"]
    ref = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": uid}
    forged = a_training_job("forged", workloadRef={**ref, "gpuResource": "nvidia.com/gpu"})
    scene.apply(forged)
    status = scene.until(forged, reason="InvalidSpec")
    assert "spec.workloadRef names no workload" in status["message"]
    assert not status.get("placement")
