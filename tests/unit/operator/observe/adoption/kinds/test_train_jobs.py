"""A TrainJob as it is planned: by the JobSet that Trainer makes of it."""

from datetime import UTC, datetime

from plimsoll.observe.adoption.gangs import gang_of
from plimsoll.observe.adoption.workload_view import Outcome
from plimsoll.observe.adoption.workloads import Workloads
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_workloads import (
    SUSPENDED,
    at_rest,
    candidate,
    jobs_of,
    jobset_of,
    only,
    problem,
    view,
    with_status,
)
from support.objects.manifests import edited
from support.objects.workloads import a_train_job, asking, held, replicated, suspended

TRAIN = held(asking(a_train_job(workers=3, gpus=2)))
DONE = {"type": "Complete", "status": "True", "message": "TrainJob completed successfully"}


def test_its_gang_is_that_of_its_jobset() -> None:
    found = candidate(TRAIN, jobset_of(TRAIN))
    assert [each.field for each in found.pod_sets] == [
        "train's spec.replicatedJobs[node].template.spec.template"
    ]
    gang = gang_of(found)
    assert (gang.count, gang.gpus, gang.is_elastic) == (3, 2, False)
    assert (found.view.parallelism, found.view.due, found.view.sizing) == (3, 3, None)


def test_a_driver_in_its_runtime_is_beside_the_gang() -> None:
    jobset = jobset_of(TRAIN)
    jobset["spec"]["replicatedJobs"].append(replicated("launcher"))
    assert view(TRAIN, jobset).beside == 1


def test_nothing_is_said_of_it_until_its_jobset_is_there() -> None:
    found = only(TRAIN)
    assert (found.wanted, found.problem) == (None, None)
    assert found.candidate.pod_sets == ()
    assert not found.candidate.view.at_rest
    assert only(TRAIN, jobset_of(TRAIN)).wanted is not None


def test_it_is_said_of_it_that_its_jobset_has_no_pods_as_soon_as_that_is_there() -> None:
    workloads, jobset = Workloads(), edited(jobset_of(TRAIN), {"spec.replicatedJobs": []})
    read = candidate(TRAIN, jobset)
    items = (read.item, *(child.item for child in read.children))
    (before,) = workloads.of(items[:1], ()).workloads
    assert before.problem is None
    (after,) = workloads.of(items, ()).workloads
    assert after.problem is not None
    assert "describes no pods" in after.problem.message


def test_as_many_pods_are_due_as_its_jobsets_jobs_have_left() -> None:
    jobset = jobset_of(TRAIN)
    (job,) = jobs_of(jobset)
    assert view(TRAIN, jobset, {**job, "status": {"succeeded": 2}}).due == 1


def test_it_is_at_rest_once_its_controller_and_its_jobset_say_so() -> None:
    jobset = jobset_of(TRAIN)
    (job,) = jobs_of(jobset)
    assert not view(at_rest(TRAIN), jobset, job).at_rest
    assert not view(TRAIN, at_rest(jobset), job).at_rest
    assert view(at_rest(TRAIN), at_rest(jobset), job).at_rest
    busy = {**job, "status": {"active": 1}}
    assert not view(at_rest(TRAIN), at_rest(jobset), busy).at_rest


def test_it_has_run_since_its_jobset_was_resumed() -> None:
    at = "2026-11-21T11:00:00Z"
    resumed = {**SUSPENDED, "status": "False", "lastTransitionTime": at}
    runs = suspended(TRAIN, suspend=False)
    jobset = with_status(jobset_of(runs), conditions=[resumed])
    assert view(runs, jobset).since == datetime(2026, 11, 21, 11, tzinfo=UTC)
    assert view(TRAIN, jobset).since is None


def test_it_ends_as_its_controller_says_and_its_jobset_does_not_matter() -> None:
    over = with_status(jobset_of(TRAIN), conditions=[{"type": "Completed", "status": "True"}])
    assert view(TRAIN, over).outcome is None
    done = with_status(TRAIN, conditions=[DONE])
    assert view(done, over).outcome == Outcome(failed=False, message=DONE["message"])
    late = {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "late"}
    failed = view(with_status(TRAIN, conditions=[late]), over)
    assert failed.outcome == Outcome(failed=True, message="DeadlineExceeded: late")


def test_it_is_held_by_our_patch_of_its_runtime_and_by_nobody_elses() -> None:
    assert candidate(TRAIN, jobset_of(TRAIN)).is_held
    theirs = {"spec.runtimePatches": [{"manager": "example.com/other"}]}
    assert not candidate(edited(TRAIN, theirs), jobset_of(TRAIN)).is_held


def test_what_its_runtime_lacks_is_said_by_the_field_of_its_jobset() -> None:
    none = asking(a_train_job())
    jobset = jobset_of(none)
    jobset["spec"]["replicatedJobs"] = [replicated("node")]
    assert problem(suspended(none), jobset).startswith(
        "train's spec.replicatedJobs[node].template.spec.template.spec.containers[0].resources"
        ".limits: asks for no GPU"
    )


def test_it_cannot_change_its_size() -> None:
    job = held(asking(a_train_job(), {"workers.min": "1", "workers.max": "4"}))
    said: str = problem(job, jobset_of(job))
    assert "TrainJob train cannot change its size: create a TrainingJob instead" in said


def test_a_jobset_of_somebody_elses_is_not_its_own() -> None:
    other: Manifest = edited(jobset_of(TRAIN), {"metadata.namespace": "another"})
    assert not candidate(TRAIN, other).children
