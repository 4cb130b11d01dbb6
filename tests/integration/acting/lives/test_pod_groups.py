"""Plain pods of a PodGroup, with the real API server and kube-scheduler.

Nobody makes such pods again: what other workloads are suspended for, these outlast.
"""

from collections.abc import Callable, Iterator

import pytest

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100, L4
from plimsoll_devcluster.manifest import Manifest, manifests_in
from plimsoll_devcluster.waiting import wait_until
from support.clusters.adoption_policy import is_gated, pods_policy
from support.clusters.scene import SECONDS, Running, Scene, conditions
from support.clusters.workload_lives import (
    create_workload,
    end,
    patch_workload,
    stand_in_of,
    stand_in_path,
    until_stood_for,
    workload_path,
)
from support.objects.batch_jobs import QUEUE
from support.objects.job_manifests import a_priority_class, a_queue, a_training_job
from support.objects.manifests import GONE, edited
from support.objects.pod_groups import a_grouped_pod, a_pod_group
from support.project.pages import ROOT

OPERATOR_ENVIRONMENT = {"PLIMSOLL_ADOPTS_JOBS": "true"}
pytestmark = pytest.mark.usefixtures("policy")

GROUP = a_pod_group()
STAND_IN = stand_in_of(GROUP)


@pytest.fixture(scope="module")
def policy(control_plane: Cluster) -> Iterator[None]:
    with pods_policy(control_plane.api):
        yield


def create_pods(scene: Scene, *pods: Manifest) -> None:
    for pod in pods:
        scene.api.create(f"/api/v1/namespaces/{scene.namespace}/pods", pod)


def create_gang(scene: Scene, group: Manifest = GROUP, size: int = 2) -> None:
    """Create a PodGroup and all its pods."""
    create_workload(scene, group)
    create_pods(scene, *(a_grouped_pod(n, group["metadata"]["name"]) for n in range(size)))


def pods(scene: Scene) -> list[Manifest]:
    return sorted(
        scene.api.items(f"/api/v1/namespaces/{scene.namespace}/pods"),
        key=lambda pod: pod["metadata"]["name"],
    )


def until(what: str, holds: Callable[[], bool]) -> None:
    wait_until(holds, timeout_seconds=SECONDS, what=what)


def runs(scene: Scene) -> Running:
    """Wait until it is planned and runs."""
    until_stood_for(scene, GROUP)
    return scene.running(STAND_IN)


def started(scene: Scene) -> Running:
    create_gang(scene)
    return runs(scene)


def is_stood_for(scene: Scene) -> bool:
    return scene.api.exists(stand_in_path(scene, GROUP))


def test_it_is_held_placed_where_the_plan_says_and_completes(scene: Scene) -> None:
    create_gang(scene)
    until_stood_for(scene, GROUP)
    scene.until(STAND_IN, reason="CannotFit")
    assert all(map(is_gated, pods(scene)))
    scene.add_nodes(fake_node("a", gpus=1), fake_node("b", gpus=1))
    running = scene.running(STAND_IN)
    assert sorted(running.nodes) == ["a", "b"]
    first, second = running.pods
    end(scene, first)
    until("one has ended", lambda: "Succeeded" in {pod["status"]["phase"] for pod in pods(scene)})
    assert conditions(scene.status(STAND_IN)).get("Complete") != "True"
    end(scene, second)
    assert scene.until(STAND_IN, reason="Completed")["message"] == "2 pods succeeded"
    assert scene.operator.metric("plimsoll_plans_refused_total") in (None, 0)


def test_pods_may_be_created_before_their_group(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    create_pods(scene, a_grouped_pod(0), a_grouped_pod(1))
    create_workload(scene, GROUP)
    assert runs(scene).nodes == ["a", "a"]


def test_nothing_starts_before_the_whole_gang_is_there(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=4))
    create_workload(scene, GROUP)
    create_pods(scene, a_grouped_pod(0))
    (event,) = scene.events(GROUP, "Adopted")
    assert "planned once all its 2 pods wait" in event["note"]
    assert event["type"] == "Normal"
    assert not is_stood_for(scene)
    create_pods(scene, a_grouped_pod(1))
    runs(scene)


@pytest.mark.slow
def test_one_that_has_started_yields_to_nobody(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=1), fake_node("b", gpus=1))
    first = started(scene)
    urgent = a_training_job("urgent", workers=2, priorityClassName="urgent")
    scene.apply(a_priority_class("urgent", 1000), urgent)
    said = scene.until(urgent, reason="InsufficientGPUs")
    assert "must not be moved" in said["message"]
    scene.node("a", {"spec": {"unschedulable": True}})
    scene.edit(STAND_IN, {"suspend": True})
    (event,) = scene.events(GROUP, "AlreadyRuns")
    assert "delete them to stop it" in event["note"]
    after = scene.running(STAND_IN)
    assert (after.uids, after.status["revision"]) == (first.uids, 1)
    for pod in after.pods:
        end(scene, pod)
    scene.until(STAND_IN, reason="Completed")


@pytest.mark.slow
def test_one_that_waits_yields_and_may_be_suspended(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    other = a_training_job("other", workers=2)
    scene.apply(other)
    scene.running(other)
    create_gang(scene)
    until_stood_for(scene, GROUP)
    scene.until(STAND_IN, reason="InsufficientGPUs")
    scene.edit(STAND_IN, {"suspend": True})
    scene.until(STAND_IN, reason="Suspended")
    scene.delete(other)
    until("the others are gone", lambda: len(pods(scene)) == 2)
    assert all(map(is_gated, pods(scene)))
    scene.edit(STAND_IN, {"suspend": False})
    assert scene.running(STAND_IN).nodes == ["a", "a"]


@pytest.mark.slow
def test_one_that_fails_is_shown_as_failed(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    end(scene, started(scene).pods[0], failed=True)
    status = scene.until(STAND_IN, reason="Failed")
    assert "plain pods are not made again" in status["message"]
    (event,) = scene.events(GROUP, "Failed")
    assert event["type"] == "Warning"


@pytest.mark.slow
def test_it_waits_for_new_pods_once_all_are_deleted(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    first = started(scene)
    scene.api.delete(scene.path("Pod", "train-0"))
    (event,) = scene.events(GROUP, "ReplicasMissing")
    assert "1 of its 2 pods are gone" in event["note"]
    scene.api.delete(scene.path("Pod", "train-1"))
    until("nothing stands for it", lambda: not is_stood_for(scene))
    create_pods(scene, a_grouped_pod(0), a_grouped_pod(1))
    assert not first.uids & runs(scene).uids


@pytest.mark.slow
def test_a_pod_that_its_user_creates_again_goes_where_it_was(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=1), fake_node("b", gpus=1))
    before = started(scene)
    scene.api.delete(scene.path("Pod", "train-0"))
    scene.events(GROUP, "ReplicasMissing")
    create_pods(scene, a_grouped_pod(0))
    until("both run", lambda: [p["status"]["phase"] for p in pods(scene)] == ["Running"] * 2)
    after = scene.running(STAND_IN)
    assert after.nodes == before.nodes
    assert after.status["revision"] == 1


def test_pods_that_wait_are_let_go_with_the_label(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=1))
    create_gang(scene)
    until_stood_for(scene, GROUP)
    scene.until(STAND_IN, reason="CannotFit")
    patch_workload(scene, GROUP, {"metadata": {"labels": {QUEUE: None}}})
    until("they have no gate", lambda: not any(map(is_gated, pods(scene))))
    until("nothing stands for it", lambda: not is_stood_for(scene))
    (event, *_) = scene.events(a_grouped_pod(0), "Released")
    assert "no longer planned" in event["note"]
    scene.add_nodes(fake_node("b", gpus=1))
    until("they run", lambda: {p["status"]["phase"] for p in pods(scene)} == {"Running"})


@pytest.mark.slow
def test_one_that_runs_is_let_go_as_it_is(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    first = started(scene)
    patch_workload(scene, GROUP, {"metadata": {"labels": {QUEUE: None}}})
    until("nothing stands for it", lambda: not is_stood_for(scene))
    assert {pod["metadata"]["uid"] for pod in pods(scene)} == first.uids
    assert {pod["status"]["phase"] for pod in pods(scene)} == {"Running"}


@pytest.mark.slow
def test_what_stands_for_it_goes_with_it(scene: Scene) -> None:
    create_gang(scene)
    until_stood_for(scene, GROUP)
    scene.api.delete(workload_path(scene, GROUP))
    for number in range(2):  # Kubernetes keeps a PodGroup for as long as it has pods
        scene.api.delete(scene.path("Pod", f"train-{number}"))
    until("the stand-in is gone", lambda: not is_stood_for(scene))


def test_what_is_wrong_is_said_of_it(scene: Scene) -> None:
    basic = edited(a_pod_group("basic"), {"spec.schedulingPolicy": {"basic": {}}})
    stray = edited(a_grouped_pod(0, "stray"), {"metadata.labels": GONE})
    said = [
        (basic, a_grouped_pod(0, "basic"), "spec.schedulingPolicy.basic: says not how many pods"),
        (a_pod_group("stray"), stray, "pods stray-0: lacks plimsoll.dev/placement"),
    ]
    for group, pod, words in said:
        create_workload(scene, group)
        create_pods(scene, pod)
        (event,) = scene.events(group, "InvalidSpec")
        assert words in event["note"]
        assert not scene.api.exists(stand_in_path(scene, group))


@pytest.mark.slow
def test_the_example_is_planned(scene: Scene) -> None:
    scene.apply(a_queue("research"), a_queue("production"))
    for gpu_type in (H100, L4):
        scene.add_nodes(*(fake_node(f"{gpu_type.lower()}-{n}", gpu_type, 4) for n in range(4)))
    text = (ROOT / "examples" / "workloads" / "pod-group.yaml").read_text()
    group, *others = [each for each in manifests_in(text) if each["kind"] != "JobQueue"]
    create_workload(scene, group)
    create_pods(scene, *others)
    until_stood_for(scene, group)
    assert len(scene.running(stand_in_of(group)).pods) == len(others)
