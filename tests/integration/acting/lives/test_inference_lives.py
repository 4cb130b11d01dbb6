"""What becomes of replicas: they are kept alive, renewed one by one, and come and go as wanted."""

import os
import subprocess
from typing import Any

import pytest

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.histories.world import gpus_of
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_history import PodHistory, creations, is_ready
from support.clusters.pod_lives import environment, label, name_of, scale, uids, until_gone
from support.clusters.scene import SECONDS, Scene, conditions
from support.objects.job_manifests import CONTAINER, a_template, an_inference_job


def a_service(
    name: str = "serve",
    *,
    replicas: int,
    **role: Any,  # noqa: ANN401 - fields of the role
) -> Manifest:
    """A service that may be scaled between 0 and 6."""
    job = an_inference_job(name, role={"replicas": {"min": 0, "max": 6}, **role})
    job["spec"]["replicas"] = replicas
    return job


def ready_count(pods: list[Manifest]) -> int:
    return sum(is_ready(pod) for pod in pods)


def test_a_replica_that_is_lost_comes_back_and_the_others_stay(scene: Scene) -> None:
    scene.add_nodes(fake_node("node"))
    job = a_service(replicas=3)
    scene.apply(job)
    pods = scene.running(job).pods
    scene.api.delete(scene.path("Pod", name_of(pods[1])))
    wait_until(
        lambda: ready_count(scene.pods_of(job)) == 3 and uids(scene.pods_of(job)) != uids(pods),
        timeout_seconds=SECONDS,
        what="the replica is back",
    )
    before, after = uids(pods), uids(scene.pods_of(job))
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {name_of(pods[1])}


@pytest.mark.slow
def test_a_pod_that_has_ended_is_made_anew(scene: Scene) -> None:
    """As after an eviction: a server never ends by itself."""
    scene.add_nodes(fake_node("node"))
    job = a_service(replicas=1)
    scene.apply(job)
    (pod,) = scene.running(job).pods
    status: Manifest = {"phase": "Failed", "reason": "Evicted", "conditions": []}
    scene.api.merge(f"{scene.path('Pod', name_of(pod))}/status", {"status": status})
    wait_until(
        lambda: ready_count(scene.pods_of(job)) == 1, timeout_seconds=SECONDS, what="one serves"
    )
    assert scene.running(job).uids != {pod["metadata"]["uid"]}


def test_without_room_a_changed_template_rolls_out_replica_by_replica(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=3))
    job = a_service(replicas=3)
    scene.apply(job)
    old = scene.running(job).pods
    slow = a_template(wishes={"start-seconds": "0.5"})
    slow["spec"]["containers"][0]["image"] = "registry.example/main:2"
    with PodHistory(scene) as history:
        role = {**job["spec"]["roles"][0], "template": slow}
        scene.edit(job, {"roles": [role]})
        wait_until(
            lambda: all(map(is_new, scene.pods_of(job))) and ready_count(scene.pods_of(job)) == 3,
            timeout_seconds=SECONDS,
            what="all replicas are new and ready",
        )
        ready = [ready_count(list(moment.values())) for moment in history.moments()]
    assert min(ready[ready.index(3) :]) == 2, "one replica at a time"
    made = creations(history)
    assert made == {(name_of(pod), label(pod, "revision")): 2 for pod in old}, "each once"
    wait_until(
        lambda: "ReplicasMissing" not in str(scene.status(job)["conditions"]),
        timeout_seconds=SECONDS,
        what="it says that no replica is missing",
    )


def is_new(pod: Manifest) -> bool:
    return pod["spec"]["containers"][0]["image"] != CONTAINER["image"]


def test_replicas_come_and_go_with_the_count_and_the_others_stay(
    scene: Scene, control_plane: Cluster
) -> None:
    scene.add_nodes(fake_node("node"))
    job = a_service(replicas=2)
    scene.apply(job)
    two = scene.running(job).uids
    kubectl(control_plane, "scale", "ij/serve", "--replicas=4", f"--namespace={scene.namespace}")
    four = scene.running(job)
    assert len(four.uids) == 4
    assert two < four.uids
    scale(scene, job, 1)
    wait_until(
        lambda: len(scene.pods_of(job)) == 1, timeout_seconds=SECONDS, what="one replica is left"
    )
    one = scene.running(job)
    assert one.uids < four.uids
    assert one.status["replicas"] == 1
    scaled = scene.api.get(f"{scene.path(job['kind'], 'serve')}/scale")["status"]
    selected = f"/api/v1/namespaces/{scene.namespace}/pods?labelSelector={scaled['selector']}"
    assert uids(scene.api.items(selected)) == uids(one.pods)


def kubectl(cluster: Cluster, *arguments: str) -> None:
    program = find_programs(os.environ) / "kubectl"
    subprocess.run([program, f"--kubeconfig={cluster.kubeconfig}", *arguments], check=True)


def test_a_service_without_replicas_sleeps_until_it_is_scaled_up(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=1))
    job = a_service(replicas=1)
    scene.apply(job)
    scene.running(job)
    scale(scene, job, 0)
    assert conditions(scene.until(job, reason="ScaledToZero"))["Running"] == "False"
    until_gone(scene, job)
    scale(scene, job, 1)
    scene.running(job)


@pytest.mark.slow
def test_a_suspended_service_gives_up_its_place_and_gets_one_again(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    job, other = a_service(replicas=2), a_service("other", replicas=2)
    scene.apply(job)
    scene.running(job)
    scene.apply(other)
    scene.until(other, reason="InsufficientGPUs")
    scene.edit(job, {"suspend": True})
    assert "placement" not in scene.until(job, reason="Suspended")
    scene.running(other)
    scene.delete(other)
    scene.edit(job, {"suspend": False})
    scene.running(job)


def test_the_pods_of_one_replica_know_their_ranks_and_come_together(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    job = a_service(replicas=2, gpusPerReplica=2, podsPerReplica=2)
    scene.apply(job)
    pods = scene.running(job).pods
    environments = [environment(pod) for pod in pods]
    ranks = [(env["PLIMSOLL_REPLICA"], env["PLIMSOLL_RANK"]) for env in environments]
    assert ranks == [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")]


@pytest.mark.slow
def test_replicas_get_as_many_gpus_as_are_asked_for_now(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    job = a_service(replicas=2)
    scene.apply(job)
    scene.running(job)
    scene.edit(job, {"roles": [{**job["spec"]["roles"][0], "gpusPerReplica": 2}]})
    wait_until(
        lambda: (
            [gpus_of(pod) for pod in scene.pods_of(job)] == [2, 2]
            and ready_count(scene.pods_of(job)) == 2
        ),
        timeout_seconds=SECONDS,
        what="both replicas have two GPUs",
    )


@pytest.mark.slow
def test_a_role_of_another_name_takes_the_place_of_the_old_one(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    job, beside = a_service(replicas=2), a_service("beside", replicas=1)
    scene.apply(job)
    scene.running(job)
    scene.edit(job, {"roles": [{**job["spec"]["roles"][0], "name": "web"}]})
    wait_until(
        lambda: [label(pod, "role") for pod in scene.pods_of(job)] == ["web", "web"],
        timeout_seconds=SECONDS,
        what="the new role's replicas are there",
    )
    scene.running(job)
    scale(scene, job, 1)
    scene.apply(beside)
    scene.running(beside)
