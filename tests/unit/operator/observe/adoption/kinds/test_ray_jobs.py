"""RayJobs as they are planned: their pods, how they stand and end, what is refused."""

from datetime import UTC, datetime
from typing import Any

import pytest

from plimsoll.observe.adoption.gangs import gang_of
from plimsoll.observe.adoption.workload_view import Outcome
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_workloads import (
    a_pod_of,
    a_stand_in,
    candidate,
    only,
    owner,
    problem,
    view,
    with_status,
)
from support.clusters.seen import seen
from support.objects.batch_jobs import QUEUE
from support.objects.manifests import GONE, edited
from support.objects.workloads import a_ray_cluster, a_ray_job, asking, held, suspended

RANGE = {"workers.min": "2", "workers.max": "4"}
START = "2026-11-01T00:00:00Z"


def a_job(
    said: dict[str, str] | None = None,
    **spec: Any,  # noqa: ANN401 - fields of a RayJob's spec
) -> Manifest:
    """A suspended RayJob that asks to be planned."""
    return asking(suspended(a_ray_job(**spec)), said)


def standing(status: str, *, suspend: bool = False, **rest: Any) -> Manifest:  # noqa: ANN401 - of a status
    """A RayJob in a status of KubeRay's."""
    return with_status(suspended(a_job(), suspend=suspend), jobDeploymentStatus=status, **rest)


def cluster_of(job: Manifest, part: str = "abcde") -> Manifest:
    """The RayCluster that KubeRay makes of a RayJob, with the labels of that."""
    meta = job["metadata"]
    name = f"{meta['name']}-{part}"
    labels = {**meta["labels"], "ray.io/originated-from-cr-name": meta["name"]}
    return {
        **a_ray_cluster(),
        "metadata": {"name": name, "labels": labels, "ownerReferences": [owner(job)]},
        "spec": job["spec"]["rayClusterSpec"],
    }


def test_the_pods_are_those_of_the_cluster_that_it_describes() -> None:
    found = candidate(a_job(workers=3, gpus=4))
    gang = gang_of(found)
    assert (gang.count, gang.gpus) == (3, 4)
    assert (found.view.parallelism, found.view.due, found.view.beside) == (3, 3, 1)
    assert found.view.numbered_by == "ray.io/worker-group-replica-index"


def test_the_gate_is_put_into_the_cluster_that_it_describes_and_taken_away() -> None:
    found = candidate(a_job())
    gates = "/spec/rayClusterSpec/workerGroupSpecs/0/template/spec/schedulingGates"
    assert [each["path"] for each in found.adapter.hold(found, datetime.now(UTC))] == [gates]
    gated = candidate(held(a_job()))
    assert gated.is_held
    assert gated.adapter.let_go(gated) == [
        {"op": "remove", "path": f"{gates}/0"},
        {"op": "add", "path": "/spec/suspend", "value": False},
    ]


def test_it_is_at_rest_once_its_cluster_is_deleted() -> None:
    assert not view(a_job()).at_rest
    assert not view(standing("Suspending", suspend=True)).at_rest
    assert view(standing("Suspended", suspend=True)).at_rest
    assert not view(standing("Suspended")).at_rest


def test_it_runs_since_its_last_cluster_was_made() -> None:
    for status in ("Suspended", "", "Retrying"):
        assert view(standing(status, startTime=START)).since is None
    for status in ("Initializing", "Running"):
        since = view(standing(status, startTime=START)).since
        assert since == datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ({"jobDeploymentStatus": "Running", "jobStatus": "SUCCEEDED"}, None),
        ({"jobDeploymentStatus": "Retrying", "reason": "AppFailed"}, None),
        (
            {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "message": "Done."},
            Outcome(failed=False, message="Done."),
        ),
        (
            {"jobDeploymentStatus": "Complete", "jobStatus": "STOPPED"},
            Outcome(failed=False, message="STOPPED"),
        ),
        (
            {"jobDeploymentStatus": "Failed", "reason": "AppFailed", "message": "Exit code 1."},
            Outcome(failed=True, message="AppFailed: Exit code 1."),
        ),
        (
            {"jobDeploymentStatus": "ValidationFailed", "reason": "ValidationFailed"},
            Outcome(failed=True, message="ValidationFailed"),
        ),
    ],
)
def test_it_ends_when_kuberay_says_so(status: Manifest, outcome: Outcome | None) -> None:
    found = candidate(with_status(a_job(), **status))
    assert found.view.outcome == outcome
    assert found.adapter.is_over(found.item) is (outcome is not None)


def test_how_often_it_was_tried_is_how_often_it_failed() -> None:
    assert view(standing("Running", failed=2)).failures == 2


def test_it_is_resized_within_what_kuberay_keeps_to() -> None:
    found = view(a_job())
    assert found.sizing is not None
    assert found.sizing.operations(5) == [
        {"op": "add", "path": "/spec/rayClusterSpec/workerGroupSpecs/0/replicas", "value": 5}
    ]
    job = a_job(RANGE)
    assert not problem(job)
    job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["maxReplicas"] = 3
    assert "by spec.rayClusterSpec.workerGroupSpecs[gpu].minReplicas" in problem(job)


def test_its_cluster_is_no_concern_of_its_own_whatever_labels_it_was_handed() -> None:
    job = held(a_job())
    found = only(job, cluster_of(job))
    assert [each.title for each in found.candidate.children] == ["RayCluster train-abcde"]
    assert found.problem is None
    let_go = edited(job, {"metadata.labels": {}})
    assert only(let_go, cluster_of(job)).candidate.title == "RayJob train"
    assert seen(cluster_of(job)).adopted.workloads == (), "even if its RayJob is gone"


def test_the_pods_of_its_cluster_are_its_and_that_of_its_submitter_is_not() -> None:
    job = suspended(held(a_job()), suspend=False)
    cluster = cluster_of(job)
    submitter = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "ownerReferences": [owner(job)]},
    }
    pods = [a_pod_of(cluster, 0), a_pod_of(cluster, 1), a_pod_of(submitter, 0, "a", gpus=0)]
    (found,) = seen(job, cluster, *pods, a_stand_in(job, cluster)).jobs
    assert [pod.name for pod in found.pods] == ["train-abcde-0", "train-abcde-1"]
    assert found.beside == 0, "the head has no node yet, and the submitter does not count"


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        (
            {"rayClusterSpec": GONE, "clusterSelector": {"ray.io/cluster": "mine"}},
            f"set the label {QUEUE} on the RayCluster",
        ),
        ({"shutdownAfterJobFinishes": False}, "set it to true"),
        ({"shutdownAfterJobFinishes": GONE}, "set it to true"),
        ({"submissionMode": "InteractiveMode"}, "choose another mode"),
        (
            {"submitterPodTemplate": a_ray_cluster()["spec"]["workerGroupSpecs"][0]["template"]},
            "ask for them in worker groups only",
        ),
        (
            {"rayClusterSpec.enableInTreeAutoscaling": True},
            "spec.rayClusterSpec.enableInTreeAutoscaling: ",
        ),
    ],
)
def test_what_kuberay_would_not_suspend_or_resizes_itself_is_refused_with_the_remedy(
    edits: Manifest, said: str
) -> None:
    job = edited(a_job(), {f"spec.{name}": value for name, value in edits.items()})
    assert said in problem(job)


@pytest.mark.parametrize("mode", ["K8sJobMode", "HTTPMode", "SidecarMode"])
def test_how_its_program_gets_to_the_cluster_does_not_matter_otherwise(mode: str) -> None:
    assert not problem(a_job(submissionMode=mode))


def test_one_without_gpus_is_refused() -> None:
    assert "spec.rayClusterSpec.headGroupSpec.template.spec" in problem(a_job(gpus=0))


def test_those_of_a_raycronjob_are_planned_and_no_others() -> None:
    for kind in ("RayCronJob", "Pipeline"):
        maker = {"apiVersion": "ray.io/v1", "kind": kind, "name": "m", "uid": "m"}
        owned = {"metadata.ownerReferences": [{**maker, "controller": True}]}
        assert bool(problem(edited(a_job(), owned))) is (kind == "Pipeline")


def test_only_kuberay_itself_may_manage_it() -> None:
    assert not problem(a_job(managedBy="ray.io/kuberay-operator"))
    assert "kueue.x-k8s.io/multikueue" in problem(a_job(managedBy="kueue.x-k8s.io/multikueue"))
