"""What is written to workloads of each kind: their suspension and their size, in one patch."""

import pytest

from plimsoll.acting.step import WorkloadWrites
from plimsoll.acting.writes.workloads import patch
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_workloads import jobset_of, view
from support.objects.batch_jobs import a_batch_job
from support.objects.workloads import (
    REPLICA_SPECS,
    a_jobset,
    a_kubeflow_job,
    a_train_job,
    asking,
    held,
)

BATCH_JOB = a_batch_job(workers=1)
JOBSET = held(asking(a_jobset()))
TRAIN = held(asking(a_train_job()))


def written(*manifests: Manifest, suspend: bool | None = None, size: int | None = None) -> Manifest:
    """The spec of the patch, of the object that was seen and no other."""
    seen = view(*manifests)
    found = patch(WorkloadWrites(seen, suspend=suspend, size=size))
    assert found["metadata"] == {"uid": seen.uid}
    return found.get("spec", {})


@pytest.mark.parametrize("suspend", [True, False])
def test_each_kind_is_suspended_and_resumed_by_its_own_field(*, suspend: bool) -> None:
    for manifests in ([BATCH_JOB], [JOBSET], [TRAIN, jobset_of(TRAIN)]):
        assert written(*manifests, suspend=suspend) == {"suspend": suspend}
    for kind in REPLICA_SPECS:
        job = held(asking(a_kubeflow_job(kind, Worker=(2, 1))))
        assert written(job, suspend=suspend) == {"runPolicy": {"suspend": suspend}}


def test_a_job_is_resumed_and_resized_at_once() -> None:
    sized = {"parallelism": 3, "completions": 3}
    assert written(BATCH_JOB, size=3) == sized
    assert written(BATCH_JOB, suspend=False, size=3) == {"suspend": False, **sized}


@pytest.mark.parametrize("kind", REPLICA_SPECS)
def test_a_kubeflow_job_is_resumed_and_its_workers_resized_at_once(kind: str) -> None:
    job = held(asking(a_kubeflow_job(kind, Worker=(2, 1))))
    workers = {REPLICA_SPECS[kind]: {"Worker": {"replicas": 5}}}
    assert written(job, size=5) == workers
    assert written(job, suspend=False, size=5) == {**workers, "runPolicy": {"suspend": False}}


def test_pods_beside_the_workers_are_part_of_the_size_if_they_have_gpus() -> None:
    with_master = held(asking(a_kubeflow_job(Master=(1, 1), Worker=(2, 1))))
    assert written(with_master, size=5) == {"pytorchReplicaSpecs": {"Worker": {"replicas": 4}}}
    driven = held(asking(a_kubeflow_job(Master=(1, 0), Worker=(2, 1))))
    assert written(driven, size=5) == {"pytorchReplicaSpecs": {"Worker": {"replicas": 5}}}


def test_one_that_cannot_be_resized_is_not() -> None:
    assert written(JOBSET, suspend=False, size=5) == {"suspend": False}
