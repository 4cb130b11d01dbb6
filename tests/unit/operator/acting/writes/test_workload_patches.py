"""What is written to workloads of each kind: their suspension, or size and resumption at once."""

import pytest

from plimsoll.acting.step import WorkloadWrites
from plimsoll.acting.writes.workloads import operations, suspension
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_workloads import jobset_of, view
from support.objects.batch_jobs import a_batch_job
from support.objects.workloads import (
    REPLICA_SPECS,
    a_jobset,
    a_kubeflow_job,
    a_ray_cluster,
    a_ray_job,
    a_train_job,
    asking,
    held,
)

BATCH_JOB = a_batch_job(workers=1)
JOBSET = held(asking(a_jobset()))
TRAIN = held(asking(a_train_job()))
RAY = held(asking(a_ray_cluster()))
RAY_JOB = held(asking(a_ray_job()))


def of_kind(kind: str, **roles: tuple[int, int]) -> Manifest:
    return held(asking(a_kubeflow_job(kind, **roles or {"Worker": (2, 1)})))


def suspended(*manifests: Manifest) -> Manifest:
    """The spec of the merge patch, of the object that was seen and no other."""
    seen = view(*manifests)
    found = suspension(WorkloadWrites(seen, suspend=True))
    assert found["metadata"] == {"uid": seen.uid}
    return found["spec"]


def written(
    *manifests: Manifest, suspend: bool | None = None, size: int | None = None
) -> dict[str, object]:
    """What the JSON patch sets in the spec, of the object that was seen and no other."""
    seen = view(*manifests)
    same, *found = operations(WorkloadWrites(seen, suspend=suspend, size=size))
    assert same == {"op": "replace", "path": "/metadata/uid", "value": seen.uid}
    assert all(each["op"] == "add" for each in found)
    return {each["path"].removeprefix("/spec/"): each["value"] for each in found}


def test_each_kind_is_suspended_and_resumed_by_its_own_field() -> None:
    for manifests in ([BATCH_JOB], [JOBSET], [TRAIN, jobset_of(TRAIN)], [RAY], [RAY_JOB]):
        assert suspended(*manifests) == {"suspend": True}
        assert written(*manifests, suspend=False) == {"suspend": False}
    for kind in REPLICA_SPECS:
        assert suspended(of_kind(kind)) == {"runPolicy": {"suspend": True}}
        assert written(of_kind(kind), suspend=False) == {"runPolicy/suspend": False}


def test_a_job_is_resumed_and_resized_at_once() -> None:
    sized = {"parallelism": 3, "completions": 3}
    assert written(BATCH_JOB, size=3) == sized
    assert written(BATCH_JOB, suspend=False, size=3) == {"suspend": False, **sized}


@pytest.mark.parametrize("kind", REPLICA_SPECS)
def test_a_kubeflow_job_is_resumed_and_its_workers_resized_at_once(kind: str) -> None:
    workers = {f"{REPLICA_SPECS[kind]}/Worker/replicas": 5}
    assert written(of_kind(kind), size=5) == workers
    assert written(of_kind(kind), suspend=False, size=5) == {**workers, "runPolicy/suspend": False}


def test_a_ray_cluster_is_resumed_and_its_group_in_the_list_resized_at_once() -> None:
    assert written(RAY, suspend=False, size=5) == {
        "workerGroupSpecs/0/scaleStrategy": {"workersToDelete": []},
        "workerGroupSpecs/0/replicas": 5,
        "suspend": False,
    }


def test_pods_beside_the_workers_are_part_of_the_size_if_they_have_gpus() -> None:
    workers = "pytorchReplicaSpecs/Worker/replicas"
    assert written(of_kind("PyTorchJob", Master=(1, 1), Worker=(2, 1)), size=5) == {workers: 4}
    assert written(of_kind("PyTorchJob", Master=(1, 0), Worker=(2, 1)), size=5) == {workers: 5}


def test_one_that_cannot_be_resized_is_not() -> None:
    assert written(JOBSET, suspend=False, size=5) == {"suspend": False}
