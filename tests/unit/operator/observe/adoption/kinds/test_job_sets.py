"""A JobSet as it is planned: which of its pods are the gang, and how it stands."""

from datetime import UTC, datetime
from typing import Any

import pytest

from plimsoll.observe.adoption.asking import manager_of
from plimsoll.observe.adoption.gangs import gang_of
from plimsoll.observe.adoption.workload_view import Outcome
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_workloads import (
    SUSPENDED,
    at_rest,
    candidate,
    jobs_of,
    problem,
    view,
    with_status,
)
from support.objects.manifests import GONE, edited
from support.objects.workloads import a_jobset, asking, held, replicated, suspended

TEMPLATE = "spec.replicatedJobs[{}].template.spec.template"


def of(*replicated_jobs: Manifest, **spec: Any) -> Manifest:  # noqa: ANN401 - fields of it
    """A held JobSet of these."""
    return held(asking(a_jobset(replicatedJobs=[*replicated_jobs], **spec)))


def counted(job: Manifest, **status: Any) -> Manifest:  # noqa: ANN401 - fields of a Job's status
    return {**job, "status": status}


def test_its_gang_are_the_pods_with_gpus_of_all_its_jobs() -> None:
    found = candidate(
        of(
            replicated("leader", gpus=4),
            replicated("workers", workers=3, gpus=4, replicas=2),
            replicated("driver", workers=2),
        )
    )
    assert [(each.count_field, each.count) for each in found.pod_sets] == [
        ("spec.replicatedJobs[leader].replicas", 1),
        ("spec.replicatedJobs[workers].replicas", 6),
        ("spec.replicatedJobs[driver].replicas", 2),
    ]
    gang = gang_of(found)
    assert (gang.count, gang.gpus, gang.fixed, gang.is_elastic) == (7, 4, 0, False)
    assert (found.view.parallelism, found.view.due, found.view.beside) == (7, 7, 2)


def test_no_more_pods_run_at_once_than_are_to_succeed() -> None:
    jobs = replicated("workers", workers=4, gpus=1, replicas=2)
    jobs["template"]["spec"]["completions"] = 3
    assert candidate(of(jobs)).view.parallelism == 6
    del jobs["template"]["spec"]["completions"]
    assert candidate(of(jobs)).view.parallelism == 8
    del jobs["template"]["spec"]["parallelism"]
    assert candidate(of(jobs)).view.parallelism == 2


def test_as_many_pods_are_due_as_its_jobs_have_left() -> None:
    jobset = of(
        replicated("workers", workers=3, gpus=1, replicas=2), replicated("driver", workers=2)
    )
    first, second, driver = jobs_of(jobset)
    assert view(jobset, first, second, driver).due == 6
    found = view(jobset, counted(first, succeeded=2), second, counted(driver, succeeded=1))
    assert (found.parallelism, found.due, found.beside) == (6, 4, 1)
    assert view(jobset, counted(first, succeeded=3), second, driver).due == 3
    assert view(jobset, second).due == 6, "not all of its Jobs have been made yet"


def test_what_has_ended_before_a_restart_is_due_again() -> None:
    jobset = of(replicated("workers", workers=3, gpus=1), replicated("driver"))
    before = [counted(job, succeeded=1) for job in jobs_of(jobset, attempt=0)]
    restarted = with_status(jobset, restarts=1)
    found = view(restarted, *before)
    assert (found.due, found.beside, found.failures) == (3, 1, 1)
    again = [counted(job, succeeded=1) for job in jobs_of(jobset, attempt=1)]
    assert (view(restarted, *again).due, view(restarted, *again).beside) == (2, 0)


def test_pods_without_gpus_that_come_later_are_not_awaited() -> None:
    workers = replicated("workers", workers=2, gpus=1)
    after = [{"name": "workers", "status": "Complete"}]
    assert view(of(workers, replicated("report", dependsOn=after))).beside == 0
    in_order = {"startupPolicyOrder": "InOrder"}
    assert view(of(workers, replicated("report"), startupPolicy=in_order)).beside == 0
    any_order = {"startupPolicyOrder": "AnyOrder"}
    assert view(of(workers, replicated("driver"), startupPolicy=any_order)).beside == 1


def test_it_is_at_rest_once_its_controller_says_so_and_its_jobs_are_too() -> None:
    jobset = of(replicated("workers", gpus=1, replicas=2))
    first, second = jobs_of(jobset)
    assert not view(jobset, first, second).at_rest
    rests = at_rest(jobset)
    assert view(rests).at_rest
    assert view(rests, counted(first, conditions=[SUSPENDED]), second).at_rest
    assert not view(rests, first, counted(second, active=1)).at_rest
    told = counted(second, active=1) | {"spec": {**second["spec"], "suspend": False}}
    assert not view(rests, first, told).at_rest
    over = [{"type": "Complete", "status": "True"}]
    ended = counted(told, succeeded=1, conditions=over)
    assert view(rests, first, ended).at_rest, "a Job that is over is not suspended any more"
    assert not view(suspended(rests, suspend=False)).at_rest


def test_it_has_run_since_it_was_last_resumed() -> None:
    resumed = {"type": "Suspended", "status": "False", "lastTransitionTime": "2026-11-21T11:00:00Z"}
    jobset = with_status(of(replicated("workers", gpus=1)), conditions=[resumed])
    assert view(suspended(jobset, suspend=False)).since == datetime(2026, 11, 21, 11, tzinfo=UTC)
    assert view(jobset).since is None
    never = with_status(suspended(jobset, suspend=False))
    assert view(never).since is None


def test_it_ends_as_its_controller_says() -> None:
    jobset = of(replicated("workers", gpus=1))
    failed = {"type": "Failed", "status": "True", "reason": "FailedJobs", "message": "one did"}
    done = {"type": "Completed", "status": "True", "message": "jobset completed successfully"}
    was = {"type": "Failed", "status": "False", "message": "not yet"}
    outcomes = [
        view(with_status(jobset, conditions=each)).outcome for each in ([], [was], [failed], [done])
    ]
    assert outcomes == [
        None,
        None,
        Outcome(failed=True, message="FailedJobs: one did"),
        Outcome(failed=False, message="jobset completed successfully"),
    ]


def test_it_cannot_change_its_size() -> None:
    assert view(of(replicated("workers", gpus=1))).sizing is None
    ranged = held(asking(a_jobset(), {"workers.min": "1", "workers.max": "4"}))
    assert problem(ranged) == (
        "annotations plimsoll.dev/workers.min and .max: JobSet train cannot change its size:"
        " create a TrainingJob instead, or remove them"
    )


def test_all_its_gpus_have_to_be_asked_for_alike_and_at_once() -> None:
    leader, workers = replicated("leader", gpus=1), replicated("workers", gpus=2)
    where = TEMPLATE.format("workers")
    differ = f"{where}: its pods with GPUs differ from those of {TEMPLATE.format('leader')}"
    assert problem(of(leader, workers)).startswith(differ)
    elsewhere = replicated("workers", gpus=1, pod={"nodeSelector": {"zone": "a"}})
    assert problem(of(leader, elsewhere)).startswith(differ)
    late = f"{where}: its pods with GPUs would be made only after others"
    after = [{"name": "leader", "status": "Ready"}]
    assert problem(of(leader, replicated("workers", gpus=1, dependsOn=after))).startswith(late)
    in_order = {"startupPolicyOrder": "InOrder"}
    same = replicated("workers", gpus=1)
    assert problem(of(leader, same, startupPolicy=in_order)).startswith(late)
    assert problem(of(same, replicated("driver"), startupPolicy=in_order)) == ""


@pytest.mark.parametrize(
    ("replicated_jobs", "words"),
    [
        ([], "spec: describes no pods, and so asks for no GPU: add some, or"),
        (
            [replicated("a")],
            f"{TEMPLATE.format('a')}.spec.containers[0].resources.limits: asks",
        ),
        (
            [replicated("a", gpus=1, replicas=0)],
            "spec.replicatedJobs[a].replicas of JobSet train: ",
        ),
        (
            [replicated("a", gpus=1, workers=2**31 - 1, replicas=2**31 - 1)],
            "4611686014132420609 pods at once cannot be planned: have 1 to 4096",
        ),
        (
            [replicated("a", gpus=1, pod={"nodeName": "n"})],
            f"{TEMPLATE.format('a')}.spec.nodeName: plans choose the nodes",
        ),
    ],
)
def test_unusual_ones_are_refused_by_the_field_at_fault(
    replicated_jobs: list[Manifest], words: str
) -> None:
    assert words in problem(of(*replicated_jobs))


def test_what_kueue_is_asked_for_by_a_template_of_jobs_is_left_to_it() -> None:
    jobs = replicated("workers", gpus=1)
    jobs["template"]["metadata"] = {"labels": {"kueue.x-k8s.io/queue-name": "team"}}
    said = manager_of(candidate(of(jobs)))
    assert said is not None
    assert said.startswith(f"the Job around {TEMPLATE.format('workers')} has the label")


def test_jobs_of_which_there_are_none_do_not_matter() -> None:
    none = replicated("spare", gpus=1, replicas=0)
    found = candidate(of(replicated("workers", workers=2, gpus=1), none))
    assert (gang_of(found).count, found.view.due) == (2, 2)


def test_one_without_any_jobs_stands_still() -> None:
    found = candidate(held(edited(asking(a_jobset()), {"spec.replicatedJobs": GONE})))
    assert found.pod_sets == ()
    assert (found.view.parallelism, found.view.due, found.view.beside) == (0, 0, 0)
