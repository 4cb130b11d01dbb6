"""Whose a workload is that another workload has made, and whose the pods are that it makes."""

from typing import Any

import pytest

from plimsoll.observe.adoption.workloads import Workload
from plimsoll.observe.observer import Observer
from plimsoll.observe.snapshot import JobView
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_workloads import (
    a_pod_of,
    a_stand_in,
    candidate,
    jobs_of,
    jobset_of,
    owner,
)
from support.clusters.seen import NOW, objects_of, seen
from support.objects.batch_jobs import QUEUE
from support.objects.manifests import edited
from support.objects.workloads import a_jobset, a_train_job, asking, held, replicated

JOBSET = held(asking(a_jobset(workers=2)))
TRAIN = held(asking(a_train_job(workers=2)))


def found(*manifests: Manifest) -> dict[str, Workload]:
    """The workloads of concern, by kind and name."""
    workloads = seen(*manifests).adopted.workloads
    return {each.candidate.title: each for each in workloads}


def only_job(*manifests: Manifest) -> JobView:
    (view,) = seen(*manifests).jobs
    return view


def labelled(manifest: Manifest) -> Manifest:
    return edited(
        manifest, {"metadata.labels": {**manifest["metadata"].get("labels", {}), QUEUE: "default"}}
    )


def of(maker: Manifest, **reference: Any) -> Manifest:  # noqa: ANN401 - fields of a reference
    """What makes something the workload's, or a claim of it."""
    return {"metadata.ownerReferences": [{**owner(maker), **reference}]}


def test_the_jobs_of_a_jobset_are_no_concern_of_their_own() -> None:
    jobs = jobs_of(JOBSET)
    assert [*found(JOBSET, *jobs)] == ["JobSet train"]
    assert found(*jobs) == {}, "even if their JobSet is gone"
    assert [each.title for each in candidate(JOBSET, *jobs).children] == ["Job train-workers-0"]


def test_the_jobset_of_a_trainjob_and_its_jobs_are_no_concern_of_their_own() -> None:
    jobset = jobset_of(TRAIN, gated=True)
    assert [*found(TRAIN, jobset, *jobs_of(jobset))] == ["TrainJob train"]
    (child,) = candidate(TRAIN, jobset, *jobs_of(jobset)).children
    assert [each.title for each in child.children] == ["Job train-node-0"]


def test_pods_are_those_of_what_stands_for_the_outermost_workload() -> None:
    jobset = jobset_of(TRAIN, gated=True)
    (job,) = jobs_of(jobset)
    pods = [a_pod_of(job, 0), a_pod_of(job, 1, "a", stand_in="trainjob-train")]
    view = only_job(TRAIN, jobset, job, *pods, a_stand_in(TRAIN, jobset))
    assert view.resource.metadata.name == "trainjob-train"
    assert [(pod.name, pod.node, pod.replica) for pod in view.pods] == [
        ("train-node-0-0", "", -1),
        ("train-node-0-1", "a", 1),
    ]
    assert view.workload is not None
    assert view.workload.uid == "uid-TrainJob-train"


def test_pods_stay_the_jobs_though_what_made_them_is_gone_first() -> None:
    stand_in = a_stand_in(JOBSET, on=("a", "b"))
    (job,) = jobs_of(JOBSET)
    pods = [a_pod_of(job, number, "a", stand_in="jobset-train") for number in (0, 1)]
    observer = Observer()
    observer.snapshot(objects_of(JOBSET, job, *pods, stand_in), NOW)
    (view,) = observer.snapshot(objects_of(JOBSET, *pods, stand_in), NOW).jobs
    assert len(view.pods) == 2
    (view,) = observer.snapshot(objects_of(JOBSET, stand_in), NOW).jobs
    assert view.pods == ()
    gone = observer.snapshot(objects_of(*pods), NOW)
    assert gone.jobs == ()


def test_pods_of_a_job_that_claims_a_jobset_elsewhere_are_not_its() -> None:
    (job,) = jobs_of(JOBSET)
    elsewhere = edited(job, {"metadata.namespace": "hostile"})
    pod = a_pod_of(job, 0, namespace="hostile")
    assert only_job(JOBSET, elsewhere, pod, a_stand_in(JOBSET)).pods == ()
    assert candidate(JOBSET, elsewhere).children == ()
    moved = a_pod_of(job, 0)
    assert only_job(JOBSET, elsewhere, moved, a_stand_in(JOBSET)).pods == ()


def test_pods_without_gpus_count_once_they_have_a_node_that_they_do_not_leave() -> None:
    jobset = held(asking(a_jobset()))
    jobset["spec"]["replicatedJobs"].append(replicated("driver", workers=4))
    _, driver = jobs = jobs_of(jobset)
    failed, leaving = a_pod_of(driver, 2, "a", gpus=0), a_pod_of(driver, 3, "a", gpus=0)
    failed["status"] = {"phase": "Failed"}
    leaving["metadata"]["deletionTimestamp"] = "2026-11-21T11:00:00Z"
    pods = [a_pod_of(driver, 0, "a", gpus=0), a_pod_of(driver, 1, gpus=0), failed, leaving]
    view = only_job(jobset, *jobs, *pods, a_stand_in(jobset))
    assert (view.beside, view.pods) == (1, ())


def test_a_labelled_job_of_a_jobset_is_left_to_that() -> None:
    (job,) = jobs_of(JOBSET)
    workloads = found(JOBSET, labelled(job))
    left = workloads["Job train-workers-0"]
    assert left.wanted is None
    assert left.problem is not None
    assert left.problem.reason == "ManagedElsewhere"
    assert left.problem.message == (
        "Job train-workers-0 belongs to JobSet train, which suspends and resumes it: remove the"
        " label plimsoll.dev/queue from the template there"
    )
    assert workloads["JobSet train"].wanted is not None


def test_a_labelled_jobset_of_a_trainjob_is_left_to_that() -> None:
    workloads = found(TRAIN, labelled(jobset_of(TRAIN, gated=True)))
    left = workloads["JobSet train"].problem
    assert left is not None
    assert (left.reason, "belongs to TrainJob train" in left.message) == ("ManagedElsewhere", True)
    assert workloads["TrainJob train"].wanted is not None


@pytest.mark.parametrize("kind", ["CronJob", "Workflow"])
def test_a_labelled_jobset_of_any_other_controllers_is_left_to_that(kind: str) -> None:
    other = {**JOBSET, "kind": kind, "apiVersion": "example.com/v1"}
    left = found(edited(JOBSET, of(other)))["JobSet train"].problem
    assert left is not None
    assert left.reason == "ManagedElsewhere"
    assert found(edited(JOBSET, of(other, controller=False)))["JobSet train"].problem is None


def test_what_claims_an_owner_that_is_not_there_is_nobodys() -> None:
    (job,) = jobs_of(JOBSET)
    other = edited(job, of(JOBSET, uid="another"))
    assert candidate(JOBSET, other).children == ()


def test_an_owner_of_another_kind_than_claimed_has_made_nothing() -> None:
    claims = edited(held(a_jobset("other")), of(TRAIN, uid="uid-JobSet-train"))
    assert [*found(JOBSET, claims)] == ["JobSet train"]
    assert candidate(JOBSET, claims).children == ()


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_circle_of_owners_changes_nothing(length: int) -> None:
    sets = [held(asking(a_jobset(f"set-{number}"))) for number in range(length)]
    circle = [
        edited(each, of(TRAIN, uid=f"uid-JobSet-set-{(number + 1) % length}"))
        for number, each in enumerate(sets)
    ]
    workloads = found(JOBSET, *circle)
    assert len(workloads) == length + 1
    assert workloads["JobSet train"].wanted is not None
    reasons = {
        name: each.problem.reason for name, each in workloads.items() if each.problem is not None
    }
    assert reasons == {f"JobSet set-{number}": "ManagedElsewhere" for number in range(length)}
