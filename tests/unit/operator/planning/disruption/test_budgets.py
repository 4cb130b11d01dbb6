from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from plimsoll.planning.disruption.budgets import loss_allowance, protection
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, pods_of, seen, with_pods
from support.objects.job_manifests import (
    a_policy,
    a_priority_class,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
)

NODES = [fake_node("n-1"), fake_node("n-2")]
NOTICE = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}


def ago(**span: float) -> str:
    return (NOW - timedelta(**span)).isoformat()


def protected(*manifests: Manifest, nodes: list[Manifest] | None = None) -> set[str]:
    names = protection(seen(*(nodes or NODES), *manifests)).jobs
    return {name.rpartition("/")[2] for name in names}


def test_a_job_may_be_disturbed_unless_somebody_says_otherwise() -> None:
    assert protected(*with_pods([at(a_training_job("job"), "n-1")])) == set()


@pytest.mark.parametrize(("minutes", "keeps"), [(9, True), (11, False)])
def test_a_job_runs_for_as_long_as_it_must(minutes: int, *, keeps: bool) -> None:
    job = a_training_job("job", disruption={"minRuntime": "10m"})
    placed = at(job, "n-1", startedTime=ago(minutes=minutes), admittedTime=ago(hours=5))
    assert protected(placed) == ({"job"} if keeps else set())


def test_the_time_counts_from_the_admission_until_it_has_started() -> None:
    job = a_training_job("job", disruption={"minRuntime": "10m"})
    assert protected(at(job, "n-1", admittedTime=ago(minutes=1))) == {"job"}


@pytest.mark.parametrize(("hours", "keeps"), [((1, 2), True), ((1, 25), False)])
def test_a_job_is_disturbed_only_so_often_a_day(hours: tuple[int, int], *, keeps: bool) -> None:
    job = a_training_job("job", disruption={"maxPerDay": 2})
    times = [ago(hours=each) for each in hours]
    assert protected(at(job, "n-1", disruptionTimes=times)) == ({"job"} if keeps else set())


def test_a_job_of_which_workers_have_succeeded_is_let_finish() -> None:
    job = at(a_training_job("job", workers=2), "n-1", "n-1")
    first, second = pods_of(job)
    assert protected(job, {**first, "status": {"phase": "Succeeded"}}, second) == {"job"}


def test_to_name_a_priority_class_that_is_not_there_protects_nobody() -> None:
    assert protected(at(a_training_job("job", priorityClassName="gone"), "n-1")) == set()


@pytest.mark.parametrize(("most", "spent"), [(1, True), (2, False), ("50%", True), ("100%", False)])
def test_the_policys_budget_holds_for_all_jobs(most: int | str, *, spent: bool) -> None:
    policy = a_policy(disruptionBudgets=[{"window": "1h", "maxJobs": most}])
    calm = at(a_training_job("calm"), "n-1")
    disturbed = at(a_training_job("disturbed"), "n-2", disruptionTimes=[ago(minutes=59)])
    assert protected(policy, calm, disturbed) == ({"calm", "disturbed"} if spent else set())


def test_shares_are_of_jobs_that_are_not_done() -> None:
    policy = a_policy(disruptionBudgets=[{"window": "1h", "maxJobs": "50%"}])
    done = {"type": "Complete", "status": "True", "reason": "Completed", "message": ""}
    conditions = [{**done, "lastTransitionTime": ago(hours=1)}]
    over = [at(a_training_job(name), "n-1", conditions=conditions) for name in ("one", "two")]
    calm = at(a_training_job("calm"), "n-1")
    disturbed = at(a_training_job("disturbed"), "n-2", disruptionTimes=[ago(minutes=59)])
    assert protected(policy, *over, calm, disturbed) == {"calm", "disturbed"}
    assert protected(policy, *over, calm, at(a_training_job("new"), "n-2")) == set()


def test_a_job_that_lost_its_place_counts_in_the_policys_budget() -> None:
    policy = a_policy(disruptionBudgets=[{"window": "1h", "maxJobs": 1}])
    waiting = {**a_training_job("waiting"), "status": {"disruptionTimes": [ago(minutes=5)]}}
    assert protected(policy, waiting, at(a_training_job("calm"), "n-1")) == {"calm"}


def test_what_was_disturbed_before_the_window_is_forgiven() -> None:
    policy = a_policy(disruptionBudgets=[{"window": "1h", "maxJobs": 1}])
    assert (
        protected(policy, at(a_training_job("j"), "n-1", disruptionTimes=[ago(hours=2)])) == set()
    )


def allowed(*manifests: Manifest, gpus: int = 100) -> int | None:
    """The GPU-seconds that plans may still throw away."""
    milli = loss_allowance(seen(*NODES, *manifests), 1000 * gpus)
    return None if milli is None else milli // 1000


def that_lost(gpu_seconds: int, **span: float) -> Manifest:
    lost = {"time": ago(**span), "gpuSeconds": gpu_seconds}
    return at(a_training_job("moved"), "n-1", lostWork=[lost])


def test_unless_told_otherwise_plans_may_lose_a_twentieth_of_the_work_an_hour() -> None:
    assert allowed() == 5 * 3600
    assert allowed(a_policy()) == 5 * 3600
    assert allowed(a_policy(disruptionBudgets=[])) is None
    assert allowed(a_policy(disruptionBudgets=[{"window": "1h", "maxJobs": 3}])) is None


def test_in_a_small_cluster_one_gpus_work_may_be_lost() -> None:
    assert allowed(gpus=8) == 3600
    assert allowed(a_policy(disruptionBudgets=[{"window": "1h", "maxLostPercent": 0}])) == 0


def test_what_was_lost_within_the_window_is_spent() -> None:
    assert allowed(that_lost(4000, minutes=59)) == 5 * 3600 - 4000
    assert allowed(that_lost(4000, minutes=61)) == 5 * 3600
    assert allowed(that_lost(10**6, minutes=1)) == 0


def test_every_budget_for_lost_work_applies() -> None:
    budgets = [{"window": "1h", "maxLostPercent": 10}, {"window": "10h", "maxLostPercent": 2}]
    policy = a_policy(disruptionBudgets=budgets)
    assert allowed(policy) == 10 * 3600
    assert allowed(policy, that_lost(15 * 3600, hours=2)) == 5 * 3600


APP = {"app": "precious"}


def a_budget(allowed: int, *, selector: Any = None) -> Manifest:  # noqa: ANN401 - a manifest's part
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "budget"},
        "spec": {"selector": {"matchLabels": APP} if selector is None else selector},
        "status": {"disruptionsAllowed": allowed},
    }


def a_covered(name: str, *nodes: str, serves: bool = False, **spec: Any) -> list[Manifest]:  # noqa: ANN401
    make, size = (an_inference_job, "replicas") if serves else (a_training_job, "workers")
    template = a_template(labels={**APP, "name": name})
    return with_pods([at(make(name, **{size: len(nodes)}, template=template, **spec), *nodes)])


def test_a_gang_keeps_its_place_unless_a_budget_allows_all_its_pods() -> None:
    gang = a_covered("gang", "n-1", "n-1", "n-2")
    assert protected(*gang, a_budget(2)) == {"gang"}
    assert protected(*gang, a_budget(3)) == set()


def test_replicas_keep_their_places_when_a_budget_allows_none() -> None:
    service = a_covered("service", "n-1", "n-2", serves=True)
    assert protected(*service, a_budget(0)) == {"service"}
    assert protected(*service, a_budget(1)) == set()


def test_what_a_budget_allows_goes_to_the_least_important_job() -> None:
    jobs = [
        *a_covered("high", "n-1", priorityClassName="high"),
        *a_covered("low-a", "n-1"),
        *a_covered("low-b", "n-2"),
        a_priority_class("high", 100),
    ]
    assert protected(*jobs, a_budget(0)) == {"high", "low-a", "low-b"}
    assert protected(*jobs, a_budget(1)) == {"high", "low-b"}
    assert protected(*jobs, a_budget(2)) == {"high"}
    assert protected(*jobs, a_budget(3)) == set()


@pytest.mark.parametrize(
    ("selector", "covers"),
    [
        ({"matchLabels": {"app": "other"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["precious"]}]}, True),
        (
            {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["precious"]}]},
            False,
        ),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        ({"matchLabels": APP, "matchExpressions": [{"key": "zone", "operator": "Exists"}]}, False),
        ({}, True),
    ],
)
def test_a_budget_covers_the_pods_that_its_selector_names(
    selector: Manifest, *, covers: bool
) -> None:
    found = protected(*a_covered("job", "n-1"), a_budget(0, selector=selector))
    assert found == ({"job"} if covers else set())


def test_a_budget_covers_no_pods_of_other_namespaces() -> None:
    budget = a_budget(0)
    budget["metadata"]["namespace"] = "elsewhere"
    assert protected(*a_covered("job", "n-1"), budget) == set()


@pytest.mark.parametrize(
    "nodes",
    [[fake_node("n-2")], [fake_node("n-1", taints=[NOTICE]), fake_node("n-2")]],
    ids=["gone", "noticed"],
)
def test_what_must_leave_its_node_is_not_protected(nodes: list[Manifest]) -> None:
    job = a_covered("job", "n-1", disruption={"minRuntime": "10h"})
    assert protected(*job, a_budget(0), nodes=nodes) == set()


def test_what_cannot_be_written_to_is_planned_around() -> None:
    jobs = at(a_training_job("stuck"), "n-1"), at(a_training_job("other"), "n-2")
    snapshot = seen(*NODES, *jobs, a_training_job("waits"))
    stuck = {job.uid for job in snapshot.jobs if job.name.endswith(("/stuck", "/waits"))}
    looked_at = replace(snapshot, stuck=frozenset(stuck))
    assert [name.rpartition("/")[2] for name in protection(looked_at).jobs] == ["stuck"]
    left = replace(looked_at, nodes=looked_at.nodes[1:])
    assert protection(left).jobs == frozenset(), "its node is gone"


def limited(**limits: Any) -> Manifest:  # noqa: ANN401 - fields of a queue's disruption
    return a_queue("strict", disruption=limits)


@pytest.mark.parametrize(
    ("asked", "limit", "keeps"),
    [("99999h", "4h", False), ("99999h", "6h", True), ("1h", "6h", False), ("6h", "0s", False)],
)
def test_a_queue_says_how_long_its_jobs_may_say_that_they_run(
    asked: str, limit: str, *, keeps: bool
) -> None:
    job = a_training_job("job", queue="strict", disruption={"minRuntime": asked})
    placed = at(job, "n-1", startedTime=ago(hours=5))
    assert protected(placed, limited(minRuntime=limit)) == ({"job"} if keeps else set())


@pytest.mark.parametrize(("asked", "limit", "keeps"), [(0, 1, False), (0, 0, True), (2, 1, False)])
def test_a_queue_says_how_often_its_jobs_may_be_disturbed_at_least(
    asked: int, limit: int, *, keeps: bool
) -> None:
    job = a_training_job("job", queue="strict", disruption={"maxPerDay": asked})
    assert protected(at(job, "n-1"), limited(maxPerDay=limit)) == ({"job"} if keeps else set())


@pytest.mark.parametrize(("minutes", "keeps"), [(59, True), (61, False)])
def test_a_queue_says_for_how_long_budgets_keep_its_jobs(minutes: int, *, keeps: bool) -> None:
    job = a_training_job("job", queue="strict", template=a_template(labels=APP))
    placed = with_pods([at(job, "n-1", admittedTime=ago(minutes=minutes))])
    found = protected(*placed, a_budget(0), limited(budgetsFor="1h"))
    assert found == ({"job"} if keeps else set())
