"""Which Jobs are planned, as what, and what a TrainingJob that stands for one sees of it."""

from dataclasses import replace
from typing import Any

import pytest

from plimsoll.observe.adoption.workloads import Workload
from plimsoll.observe.observer import Observer
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_jobs import a_pod_of_job, a_stand_in, seen_job
from support.clusters.seen import NOW, objects_of, seen
from support.objects.batch_jobs import QUEUE, a_batch_job
from support.objects.job_manifests import a_training_job

KUEUE = "kueue.x-k8s.io/queue-name"
RUNS: Manifest = {"suspend": False}


def workload(*manifests: Manifest) -> Workload:
    (found,) = seen(*manifests).adopted.workloads
    return found


def only_job(snapshot: Snapshot) -> JobView:
    (view,) = snapshot.jobs
    return view


def a_job(job: Manifest | None = None, **status: Any) -> Manifest:  # noqa: ANN401 - a status
    return seen_job(a_batch_job() if job is None else job, **status)


def test_a_job_without_label_and_gate_is_none_of_our_concern() -> None:
    assert seen(a_job(a_batch_job(queue=None, held=False))).adopted.workloads == ()
    assert seen(a_job(a_batch_job(queue="", held=False))).adopted.workloads == ()


def test_a_job_that_asks_has_a_wanted_stand_in_until_it_is_over() -> None:
    found = workload(a_job())
    assert (found.wanted is not None, found.stand_in, found.problem) == (True, None, None)
    over = workload(a_job(conditions=[{"type": "Complete", "status": "True"}]))
    assert (over.wanted, over.problem) == (None, None)
    let_go = workload(a_job(a_batch_job(queue=None)))
    assert (let_go.wanted, let_go.problem) == (None, None)


def test_a_stand_in_has_the_pods_that_the_jobs_own_controller_made() -> None:
    stranger = a_pod_of_job(5, "a", name="forged", ownerReferences=[])
    elsewhere = a_pod_of_job(6, name="elsewhere", namespace="another")
    pods = [a_pod_of_job(0, "a"), a_pod_of_job(1), stranger, elsewhere]
    view = only_job(seen(a_job(), a_stand_in(a_batch_job()), *pods))
    assert [(pod.name, pod.replica, pod.revision) for pod in view.pods] == [
        ("train-1", -1, -1),
        ("train-0", 0, 1),
    ]
    assert view.workload is not None
    assert view.refusal is None


def test_what_a_pod_says_of_another_job_does_not_count() -> None:
    labels = {"plimsoll.dev/job-uid": "another", "plimsoll.dev/revision": "7"}
    view = only_job(seen(a_job(), a_stand_in(a_batch_job()), a_pod_of_job(0, "a", labels=labels)))
    assert [(pod.replica, pod.revision) for pod in view.pods] == [(-1, -1)]


@pytest.mark.parametrize(
    ("status", "due"),
    [
        ({}, 2),
        ({"succeeded": 4}, 1),
        ({"succeeded": 5}, 0),
        ({"succeeded": 9}, 0),
        ({"succeeded": 1, "failedIndexes": "0,2-3"}, 1),
    ],
)
def test_no_more_pods_are_due_than_are_left_to_succeed(status: Manifest, due: int) -> None:
    queue = a_batch_job(completions=5, completionMode="NonIndexed")
    view = only_job(seen(a_job(queue, **status), a_stand_in(queue)))
    assert view.workload is not None
    assert view.workload.due == due


def test_a_job_is_at_rest_once_its_controller_has_seen_that_it_is_suspended() -> None:
    def rests(spec: Manifest, **status: Any) -> bool:  # noqa: ANN401 - a status
        job = a_batch_job()
        job["spec"] |= spec
        view = only_job(seen(a_job(job, **status), a_stand_in(a_batch_job())))
        assert view.workload is not None
        return view.workload.at_rest

    suspended = [{"type": "Suspended", "status": "True"}]
    assert rests({}, conditions=suspended)
    assert rests({}), "it never ran"
    assert not rests({}, active=2)
    assert not rests(RUNS, conditions=suspended)


def test_what_somebody_else_manages_is_left_to_them() -> None:
    labelled, in_template, gated = a_batch_job(), a_batch_job(), a_batch_job()
    labelled["metadata"]["labels"][KUEUE] = "team"
    in_template["spec"]["template"]["metadata"]["labels"] = {KUEUE: "team"}
    gated["spec"]["template"]["spec"]["schedulingGates"].append({"name": "kueue.x-k8s.io/topology"})
    owned, owned_by_cron = a_batch_job(), a_batch_job()
    owner = {"name": "o", "uid": "u", "controller": True}
    set_ = {**owner, "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    owned["metadata"]["ownerReferences"] = [set_]
    cron = {**owner, "apiVersion": "batch/v1", "kind": "CronJob"}
    owned_by_cron["metadata"]["ownerReferences"] = [cron]
    managed = a_batch_job(managedBy="example.com/other")
    for job in (labelled, in_template, gated, owned, managed):
        found = workload(a_job(job))
        assert found.wanted is None
        assert found.problem is not None
        assert found.problem.reason == "ManagedElsewhere"
    for job in (owned_by_cron, a_batch_job(managedBy="kubernetes.io/job-controller")):
        assert workload(a_job(job)).problem is None


def test_a_job_that_runs_unheld_is_left_alone() -> None:
    found = workload(a_job(a_batch_job(held=False)))
    assert found.wanted is None
    assert found.problem is not None
    assert found.problem.reason == "AlreadyRuns"


def test_a_placed_job_that_changes_its_shape_goes_on_as_it_was() -> None:
    larger, other_queue = a_batch_job(workers=3), a_batch_job(queue="other")
    more_gpus = a_batch_job(gpus=4)
    for job, word in ((larger, "parallelism"), (other_queue, "queue"), (more_gpus, "GPUs")):
        found = workload(a_job(job), a_stand_in(a_batch_job(), "a", "a"))
        assert found.wanted is None
        assert found.problem is not None
        assert found.problem.reason == "ShapeChanged"
        assert word in found.problem.message
        assert workload(a_job(job), a_stand_in(a_batch_job())).problem is None


def test_the_size_of_an_elastic_job_is_no_change_of_its_shape() -> None:
    said = {"workers.min": "1", "workers.max": "8"}
    before = a_batch_job(workers=1, annotations=said)
    after = a_batch_job(workers=4, annotations=said)
    found = workload(a_job(after), a_stand_in(before, "a", "a", "a", "a"))
    assert found.problem is None


def test_a_training_job_without_its_job_is_refused_and_has_no_pods() -> None:
    ref = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-Job-train"}
    forged = a_training_job("forged", workloadRef={**ref, "gpuResource": "nvidia.com/gpu"})
    snapshot = seen(a_job(), a_stand_in(a_batch_job()), forged, a_pod_of_job(0))
    views = {view.resource.metadata.name: view for view in snapshot.jobs}
    assert views["forged"].refusal is not None
    assert "spec.workloadRef names no workload" in views["forged"].refusal.message
    assert (views["forged"].pods, views["forged"].workload) == ((), None)


def test_a_forger_who_comes_first_does_not_take_the_jobs_stand_in() -> None:
    ref = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-Job-train"}
    fields = {**ref, "gpuResource": "nvidia.com/gpu"}
    for name in ("a-forged", "z-forged"):
        forged = a_training_job(name, workloadRef=fields)
        snapshot = seen(a_job(), a_stand_in(a_batch_job()), forged)
        assert [*snapshot.adopted.views] == ["uid-TrainingJob-job-train"]
        assert [*snapshot.adopted.orphans] == [f"uid-TrainingJob-{name}"]


def test_a_job_nobody_can_read_costs_only_itself() -> None:
    broken = a_job(a_batch_job("broken"))
    broken["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "many"
    broken["metadata"]["uid"] = "uid-of-broken"
    both = seen(broken, a_job()).adopted.workloads
    found = {each.candidate.item.metadata.name: each for each in both}
    assert found["broken"].problem is not None
    assert found["train"].wanted is not None


def test_the_label_names_the_queue() -> None:
    found = workload(a_job(a_batch_job(queue="research")))
    assert found.wanted is not None
    assert found.wanted.job.spec.queue == "research"
    assert found.candidate.item.metadata.labels[QUEUE] == "research"


def test_a_workload_is_matched_anew_only_if_it_or_its_stand_in_changed() -> None:
    both = objects_of(a_job(), a_stand_in(a_batch_job()))
    other = objects_of(seen_job(a_batch_job("other")), a_stand_in(a_batch_job("other")))
    observer = Observer()
    (first,) = observer.snapshot(both, NOW).adopted.workloads
    more = replace(
        both,
        workloads=[*both.workloads, *other.workloads],
        resources=[*both.resources, *other.resources],
    )
    again, _ = observer.snapshot(more, NOW).adopted.workloads
    assert again is first
    (alone,) = observer.snapshot(replace(both, resources=()), NOW).adopted.workloads
    assert alone.stand_in is None
