"""A Job is read again only where its TrainingJob may change."""

import msgspec
import pytest

from plimsoll.kube.objects.workloads.batch_job import BatchJob, BatchJobStatus
from plimsoll.observe.adoption.stand_ins import StandIn
from plimsoll.observe.adoption.workloads import Workloads
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_jobs import read_job
from support.objects.batch_jobs import a_batch_job
from support.objects.manifests import edited


def wanted(workloads: Workloads, job: BatchJob) -> StandIn | None:
    (found,) = workloads.of((job,), ()).workloads
    return found.wanted


def test_a_job_that_starts_is_not_read_again() -> None:
    workloads, job = Workloads(), read_job(a_batch_job())
    first = wanted(workloads, job)
    assert first is not None
    spec = msgspec.structs.replace(job.spec, suspend=False)
    runs = msgspec.structs.replace(job, spec=spec, status=BatchJobStatus(active=2))
    assert wanted(workloads, runs) is first


@pytest.mark.parametrize(
    "edits",
    [
        {"metadata.labels": {"plimsoll.dev/queue": "other"}},
        {"metadata.annotations": {"plimsoll.dev/work.amount": "7"}},
        {"spec.parallelism": 1},
        {"spec.template.spec.nodeSelector": {"zone": "a"}},
        {"spec.managedBy": "example.org/other"},
        {"metadata.ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "x"}]},
    ],
)
def test_a_job_that_says_something_else_is_read_again(edits: Manifest) -> None:
    workloads = Workloads()
    first = wanted(workloads, read_job(a_batch_job()))
    assert wanted(workloads, read_job(edited(a_batch_job(), edits))) is not first


def test_a_job_that_has_ended_is_read_again() -> None:
    workloads = Workloads()
    assert wanted(workloads, read_job(a_batch_job())) is not None
    failed = read_job(a_batch_job(), conditions=[{"type": "Failed", "status": "True"}])
    assert wanted(workloads, failed) is None
