"""RayClusters as they are planned: which pods are the gang, how they stand, what is refused."""

from datetime import UTC, datetime
from typing import Any

import pytest

from plimsoll.observe.adoption.gangs import gang_of
from plimsoll.observe.adoption.workloads import Workloads
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_workloads import candidate, only, problem, view, with_status
from support.objects.manifests import edited
from support.objects.workloads import a_ray_cluster, asking, held, suspended

RANGE = {"workers.min": "2", "workers.max": "4"}


def a_cluster(
    *groups: Manifest,
    said: dict[str, str] | None = None,
    **spec: Any,  # noqa: ANN401 - fields of a RayCluster's spec
) -> Manifest:
    """A suspended RayCluster that asks to be planned, with more worker groups."""
    cluster = asking(suspended(a_ray_cluster(**spec)), said)
    cluster["spec"]["workerGroupSpecs"].extend(groups)
    return cluster


def a_group(name: str, replicas: int, gpus: int = 1, **fields: Any) -> Manifest:  # noqa: ANN401 - a group's
    """A worker group."""
    (group,) = a_ray_cluster(gpus=gpus)["spec"]["workerGroupSpecs"]
    return {**group, "groupName": name, "replicas": replicas, **fields}


def with_group(**fields: Any) -> Manifest:  # noqa: ANN401 - fields of its only group
    cluster = a_cluster()
    cluster["spec"]["workerGroupSpecs"][0] |= fields
    return cluster


def condition(kind: str, status: str) -> Manifest:
    return {"type": kind, "status": status, "lastTransitionTime": "2026-11-01T00:00:00Z"}


def test_workers_with_gpus_are_the_gang_and_the_head_is_beside_it() -> None:
    found = candidate(a_cluster(workers=3, gpus=4))
    gang = gang_of(found)
    assert (gang.count, gang.gpus) == (3, 4)
    assert (found.view.parallelism, found.view.due, found.view.beside) == (3, 3, 1)


def test_a_head_with_the_same_gpus_is_one_of_the_gang() -> None:
    cluster = a_cluster(workers=3)
    worker = cluster["spec"]["workerGroupSpecs"][0]["template"]
    cluster["spec"]["headGroupSpec"]["template"] = worker
    found = candidate(cluster)
    assert gang_of(found).count == 4
    assert found.view.beside == 0
    assert found.view.sizing is not None
    assert found.view.sizing.operations(6)[0]["value"] == 5
    assert found.view.numbered_by == "", "workers are numbered from 0, and the head is not"


def test_groups_of_like_workers_are_one_gang_and_those_without_gpus_are_beside_it() -> None:
    found = candidate(a_cluster(a_group("more", 3), a_group("cpu", 5, gpus=0)))
    assert gang_of(found).count == 5
    assert found.view.beside == 6
    assert (found.view.sizing, found.view.numbered_by) == (None, "")


@pytest.mark.parametrize(
    ("group", "pods"),
    [
        ({"replicas": 3}, 3),
        ({"replicas": 3, "maxReplicas": 2}, 2),
        ({"replicas": 1, "minReplicas": 2}, 2),
        ({"replicas": 3, "numOfHosts": 2}, 6),
        ({"replicas": 3, "suspend": True}, 0),
    ],
)
def test_a_group_has_as_many_pods_as_kuberay_makes(group: Manifest, pods: int) -> None:
    assert view(with_group(**group)).parallelism == pods


def test_it_is_at_rest_once_kuberay_says_that_its_pods_are_gone() -> None:
    cluster, runs = a_cluster(), suspended(a_cluster(), suspend=False)
    begun = [condition("RayClusterSuspending", "True"), condition("RayClusterSuspended", "False")]
    done = [condition("RayClusterSuspending", "False"), condition("RayClusterSuspended", "True")]
    assert not view(cluster).at_rest
    assert not view(with_status(cluster, state="suspended", conditions=begun)).at_rest
    assert view(with_status(cluster, conditions=done)).at_rest
    assert not view(with_status(runs, conditions=done)).at_rest


def test_it_runs_since_kuberay_has_seen_that_it_was_resumed() -> None:
    runs = suspended(a_cluster(), suspend=False)
    unseen = with_status(runs, conditions=[condition("RayClusterSuspended", "True")])
    assert view(unseen).since is None
    seen = with_status(runs, conditions=[condition("RayClusterSuspended", "False")])
    assert view(seen).since == datetime(2026, 11, 1, tzinfo=UTC)


def test_it_never_ends_by_itself() -> None:
    failed = [condition("ReplicaFailure", "True")]
    assert view(with_status(a_cluster(), state="failed", conditions=failed)).outcome is None


def test_the_gate_is_put_on_each_group_with_gpus_and_taken_away() -> None:
    cluster = a_cluster(a_group("cpu", 1, gpus=0), a_group("more", 1))
    found = candidate(cluster)
    gates = "template/spec/schedulingGates"
    hold = found.adapter.hold(found, datetime.now(UTC))
    assert [each["path"] for each in hold] == [
        f"/spec/workerGroupSpecs/{index}/{gates}" for index in (0, 2)
    ]
    gated = candidate(held(cluster))
    assert gated.is_held
    assert gated.adapter.let_go(gated) == [
        {"op": "remove", "path": f"/spec/workerGroupSpecs/0/{gates}/0"},
        {"op": "remove", "path": f"/spec/workerGroupSpecs/2/{gates}/0"},
        {"op": "add", "path": "/spec/suspend", "value": False},
    ]


def test_its_only_group_with_gpus_is_resized_and_its_workers_are_numbered() -> None:
    cluster = a_cluster()
    cluster["spec"]["workerGroupSpecs"].insert(0, a_group("cpu", 1, gpus=0))
    found = view(cluster)
    assert found.sizing is not None
    group = "/spec/workerGroupSpecs/1"
    assert found.sizing.operations(5, ["train-gpu-7"]) == [
        {
            "op": "add",
            "path": f"{group}/scaleStrategy",
            "value": {"workersToDelete": ["train-gpu-7"]},
        },
        {"op": "add", "path": f"{group}/replicas", "value": 5},
    ]
    assert found.numbered_by == "ray.io/worker-group-replica-index"


def test_it_may_be_resized_within_what_kuberay_keeps_to() -> None:
    found = only(a_cluster(said=RANGE))
    assert found.wanted is not None
    workers = found.wanted.job.spec.workers
    assert (workers.min, workers.max) == (2, 4)
    for bounds in ({"maxReplicas": 3}, {"minReplicas": 3}):
        cluster = a_cluster(said=RANGE)
        cluster["spec"]["workerGroupSpecs"][0] |= bounds
        assert "by spec.workerGroupSpecs[gpu].minReplicas and maxReplicas" in problem(cluster)


@pytest.mark.parametrize("groups", [[a_group("more", 1)], []])
def test_several_groups_or_hosts_keep_their_size(groups: list[Manifest]) -> None:
    cluster = a_cluster(*groups, said=RANGE)
    if not groups:
        cluster["spec"]["workerGroupSpecs"][0]["numOfHosts"] = 2
    assert "give GPUs to one worker group only, with numOfHosts 1" in problem(cluster)


def test_one_that_rays_autoscaler_resizes_is_refused_until_that_is_off() -> None:
    workloads, cluster = Workloads(), a_cluster()
    autoscaled = edited(cluster, {"spec.enableInTreeAutoscaling": True})
    (refused,) = workloads.of((candidate(autoscaled).item,), ()).workloads
    assert refused.problem is not None
    assert refused.problem.message.startswith("spec.enableInTreeAutoscaling: ")
    assert "remove it" in refused.problem.message
    (found,) = workloads.of((candidate(cluster).item,), ()).workloads
    assert (found.problem, found.wanted is not None) == (None, True)


@pytest.mark.parametrize(
    "edits",
    [
        {"spec.gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}},
        {"metadata.annotations": {"ray.io/ft-enabled": "true"}},
    ],
)
def test_one_whose_head_has_gpus_and_its_state_in_redis_is_refused(edits: Manifest) -> None:
    cluster = edited(a_cluster(), edits)
    assert not problem(cluster)
    worker = cluster["spec"]["workerGroupSpecs"][0]["template"]
    cluster["spec"]["headGroupSpec"]["template"] = worker
    assert "ask for GPUs in worker groups only" in problem(cluster)


def test_groups_with_different_gpus_are_refused() -> None:
    said = problem(a_cluster(a_group("more", 1, gpus=2)))
    assert said.startswith("spec.workerGroupSpecs[more].template: its pods with GPUs differ")


def test_one_without_gpus_is_refused() -> None:
    assert "asks for no GPU" in problem(a_cluster(gpus=0))


def test_that_of_a_ray_service_belongs_to_that() -> None:
    owner = {"apiVersion": "ray.io/v1", "kind": "RayService", "name": "o", "uid": "o"}
    owned = {"metadata.ownerReferences": [{**owner, "controller": True}]}
    found = only(edited(a_cluster(), owned))
    assert found.problem is not None
    assert found.problem.reason == "ManagedElsewhere"
    assert "belongs to RayService o" in found.problem.message


def test_only_kuberay_itself_may_manage_it() -> None:
    assert not problem(a_cluster(managedBy="ray.io/kuberay-operator"))
    assert "kueue.x-k8s.io/multikueue" in problem(a_cluster(managedBy="kueue.x-k8s.io/multikueue"))
