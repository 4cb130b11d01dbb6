"""batch/v1 Jobs with one label, in a real cluster with Kubernetes' own Job controller."""

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.waiting import wait_until
from support.clusters.adopted_lives import (
    adopted,
    change,
    create,
    end,
    path_of,
    pods_made,
    stand_in,
    stand_in_path,
    there,
    until_condition,
    until_let_go,
    until_other_pods,
    until_size,
    until_stood_for,
    until_suspended,
)
from support.clusters.scene import SECONDS, Scene
from support.clusters.target_lives import nodes_of
from support.objects.batch_jobs import GATE, QUEUE, a_batch_job
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
        end(scene, pod)
    until_condition(scene, job, "Complete")
    scene.until(stand_in(job), reason="Completed")


def test_a_job_that_was_suspended_by_its_user_is_held_too_and_planned(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    job = a_batch_job(held=False, suspend=True)
    scene.running(adopted(scene, job))
    gates = there(scene, job)["spec"]["template"]["spec"]["schedulingGates"]
    assert gates == [{"name": GATE}]


def test_a_job_that_runs_already_is_left_as_it_is_until_it_is_suspended(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    job = a_batch_job(held=False)
    create(scene, job)
    (event,) = scene.events(job, "AlreadyRuns")
    assert "set spec.suspend of the Job to true" in event["note"]
    assert not scene.api.exists(stand_in_path(scene, job))
    change(scene, job, {"spec": {"suspend": True}})
    until_stood_for(scene, job)
    scene.running(stand_in(job))


def test_a_job_is_as_large_as_there_is_room_and_grows(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    size = {"workers.min": "1", "workers.max": "4"}
    job = a_batch_job(workers=1, annotations=size)
    until_size(scene, adopted(scene, job), 2)
    assert len(scene.running(stand_in(job)).pods) == 2
    scene.add_nodes(fake_node("b", gpus=2))
    until_size(scene, stand_in(job), 4)
    running = scene.running(stand_in(job))
    assert sorted(running.nodes) == ["a", "a", "b", "b"]
    spec = there(scene, job)["spec"]
    assert (spec["parallelism"], spec["completions"]) == (4, 4)


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
    scene.until(stand_in(job), restarts=1)


def test_a_work_queue_runs_one_pod_after_the_other_in_its_places(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    job = a_batch_job(
        workers=2,
        completions=5,
        completionMode="NonIndexed",
        pod_annotations={"plimsoll.dev/test-run-seconds": "0"},
    )
    adopted(scene, job)
    found = until_condition(scene, job, "Complete")
    assert found["status"]["succeeded"] == 5
    scene.until(stand_in(job), reason="Completed")
    assert scene.operator.metric("plimsoll_plans_refused_total") in (None, 0)


def test_a_job_that_fails_for_good_is_shown_as_failed(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=1))
    job = a_batch_job(workers=1, backoffLimit=0)
    running = scene.running(adopted(scene, job))
    end(scene, running.pods[0], failed=True)
    until_condition(scene, job, "Failed")
    status = scene.until(stand_in(job), reason="Failed")
    assert "BackoffLimitExceeded" in status["message"]


def test_the_stand_in_goes_with_its_job_however_that_is_deleted(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    for policy in ("Background", "Orphan"):
        job = a_batch_job(policy.lower(), workers=1)
        scene.running(adopted(scene, job))
        scene.api.delete(f"{path_of(scene, job)}?propagationPolicy={policy}")
        wait_until(
            lambda job=job: not scene.api.exists(stand_in_path(scene, job)),
            timeout_seconds=SECONDS,
            what=f"the stand-in is gone, {policy}",
        )


def test_a_stand_in_that_somebody_deletes_is_made_again_and_the_job_starts_anew(
    scene: Scene,
) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    job = a_batch_job()
    before = scene.running(adopted(scene, job))
    uid = scene.api.get(stand_in_path(scene, job))["metadata"]["uid"]
    scene.delete(stand_in(job))
    wait_until(
        lambda: (
            scene.api.exists(stand_in_path(scene, job))
            and scene.api.get(stand_in_path(scene, job))["metadata"]["uid"] != uid
        ),
        timeout_seconds=SECONDS,
        what="there is another stand-in",
    )
    assert not before.uids & scene.running(stand_in(job)).uids


def test_a_stand_in_that_is_suspended_stops_its_job_and_resumes_it(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    job = a_batch_job()
    scene.running(adopted(scene, job))
    scene.edit(stand_in(job), {"suspend": True})
    until_suspended(scene, job)
    scene.edit(stand_in(job), {"suspend": False})
    scene.running(stand_in(job))


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
        lambda: set(nodes_of(pods_made(scene, job))) == {other},
        timeout_seconds=SECONDS,
        what=f"all pods are on {other}",
    )
    assert set(scene.running(stand_in(job)).nodes) == {other}


def test_a_job_that_no_longer_asks_goes_on_by_itself(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    waits, runs = a_batch_job("waits", workers=4), a_batch_job("runs", workers=2)
    adopted(scene, waits)
    scene.until(stand_in(waits), reason="CannotFit")
    before = scene.running(adopted(scene, runs))
    for job in (waits, runs):
        change(scene, job, {"metadata": {"labels": {QUEUE: None}}})
    until_let_go(scene, waits)
    assert len(pods_made(scene, waits)) == 4
    scene.events(runs, "Adopted")
    assert scene.running(stand_in(runs)).uids == before.uids
    change(scene, runs, {"spec": {"suspend": True}})
    until_let_go(scene, runs)


def test_what_is_wrong_is_said_of_the_job_and_it_is_left_as_it_was(scene: Scene) -> None:
    wrong = {
        "misspelt": a_batch_job("misspelt", annotations={"checkpoint.intervall": "5m"}),
        "no-gpus": a_batch_job("no-gpus", gpus=0),
        "fixed": a_batch_job(
            "fixed", annotations={"workers.min": "1", "workers.max": "4"}, completions=8
        ),
        "kueue": a_batch_job("kueue"),
        "managed": a_batch_job("managed", managedBy="example.com/controller"),
        "owned": a_batch_job("owned"),
    }
    wrong["kueue"]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "team"
    # Of a kind that is not served: the garbage collector would remove the Job with it otherwise.
    owner = {"apiVersion": "example.com/v1", "kind": "Pipeline", "name": "nightly", "uid": "u"}
    wrong["owned"]["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    create(scene, *wrong.values())
    said = {
        "misspelt": ("InvalidSpec", "plimsoll.dev/checkpoint.intervall: is unknown: did you mean"),
        "no-gpus": ("InvalidSpec", "asks for no GPU: set nvidia.com/gpu"),
        "fixed": ("InvalidSpec", "cannot change its size: set completionMode to Indexed"),
        "kueue": ("ManagedElsewhere", "kueue.x-k8s.io/queue-name, so Kueue manages it"),
        "managed": ("ManagedElsewhere", "spec.managedBy example.com/controller"),
        "owned": ("ManagedElsewhere", "belongs to Pipeline nightly, which suspends and resumes it"),
    }
    for name, (reason, words) in said.items():
        (event,) = scene.events(wrong[name], reason)
        assert words in event["note"], name
        assert not scene.api.exists(stand_in_path(scene, wrong[name])), name
        assert there(scene, wrong[name])["spec"]["suspend"], name


def test_a_job_that_changes_its_shape_while_it_runs_goes_on_as_it_was(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=4))
    job = a_batch_job(workers=2)
    before = scene.running(adopted(scene, job))
    change(scene, job, {"spec": {"parallelism": 3, "completions": 3}})
    (event,) = scene.events(job, "ShapeChanged")
    assert "the Job's parallelism changed while it runs" in event["note"]
    assert scene.running(stand_in(job)).uids == before.uids
    scene.edit(stand_in(job), {"suspend": True})
    until_size(scene, stand_in(job), 3)


def test_a_training_job_that_only_claims_to_stand_for_a_job_holds_nothing(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    job = a_batch_job()
    scene.running(adopted(scene, job))
    uid = there(scene, job)["metadata"]["uid"]
    ref = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": uid}
    forged = a_training_job("forged", workloadRef={**ref, "gpuResource": "nvidia.com/gpu"})
    scene.apply(forged)
    status = scene.until(forged, reason="InvalidSpec")
    assert "spec.workloadRef names no workload" in status["message"]
    assert not status.get("placement")
