from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from plimsoll.planning.disruption.budgets import protection
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, seen, with_pods
from support.objects.job_manifests import (
    a_policy,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
)

NODE = fake_node("node", gpus=8)
OWNER, LENDER = a_queue("owner", guaranteed=4), a_queue("borrower", guaranteed=2)
LABELS = {"app": "precious"}
BUDGET = {
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "budget"},
    "spec": {"selector": {"matchLabels": LABELS}},
    "status": {"disruptionsAllowed": 0},
}
FOR_EVER: Mapping[str, Any] = {"minRuntime": "99999h"}


def a_borrower(
    name: str = "borrower",
    *,
    gpus: int = 4,
    disruption: Mapping[str, Any] = FOR_EVER,
    template: Manifest | None = None,
) -> Manifest:
    """A job that says that it must not be disturbed."""
    job = a_training_job(
        name, gpus=gpus, queue="borrower", disruption=disruption, template=template
    )
    return at(job, "node", startedTime=NOW.isoformat())


def waiting(  # noqa: PLR0913 - a builder: a test names only what it is about
    minutes: float = 11,
    *,
    reason: str = "InsufficientGPUs",
    gpus: int = 4,
    queue: str = "owner",
    gpu_type: str = H100,
    suspend: bool = False,
) -> Manifest:
    """A job of the queue that is owed four GPUs, which has waited for so long."""
    since = (NOW - timedelta(minutes=minutes)).isoformat()
    admitted = {
        "type": "Admitted",
        "status": "False",
        "reason": reason,
        "lastTransitionTime": since,
    }
    job = a_training_job("waiting", gpus=gpus, queue=queue, rates={gpu_type: 1}, suspend=suspend)
    return {**job, "status": {"conditions": [admitted]}}


def ended(*manifests: Manifest) -> list[str]:
    """Whose protection has ended, of a cluster with two queues of which one is owed GPUs."""
    found = protection(seen(NODE, OWNER, LENDER, *manifests))
    assert not found.jobs & found.ended.keys()
    return [name.rpartition("/")[2] for name in found.ended]


def test_no_protection_holds_against_a_guarantee_after_the_grace() -> None:
    found = protection(seen(NODE, OWNER, LENDER, a_borrower(), waiting()))
    ((_, why),) = found.ended.items()
    assert why == (
        "queue owner has waited for its guarantee since 2026-11-21 11:49 UTC,"
        " longer than guaranteeGrace (10 min), so its protection ended"
    )


@pytest.mark.parametrize("wish", [{"maxPerDay": 0}, {"minRuntime": "1h"}])
def test_whatever_the_job_says(wish: Mapping[str, Any]) -> None:
    assert ended(a_borrower(disruption=wish), waiting()) == ["borrower"]


def test_nor_does_its_own_budget_or_a_worker_that_has_ended() -> None:
    guarded = a_borrower("guarded", disruption={}, template=a_template(labels=LABELS))
    assert ended(*with_pods([guarded]), BUDGET, waiting()) == ["guarded"]
    half = at(a_training_job("half", workers=2, gpus=2, queue="borrower"), "node", "node")
    job, first, second = with_pods([half])
    done = {**first, "status": {"phase": "Succeeded"}}
    assert ended(job, done, second, waiting()) == ["half"]


@pytest.mark.parametrize(
    "patient",
    [
        waiting(9),
        waiting(reason="QueueLimit"),
        waiting(gpus=5),
        waiting(queue="borrower"),
        waiting(queue="default"),
        waiting(suspend=True),
        waiting(gpu_type=A100),
    ],
    ids=[
        "within the grace",
        "not for want of room",
        "more than it is owed",
        "of the same queue",
        "owed nothing",
        "it wants no place",
        "another GPU type",
    ],
)
def test_otherwise_it_holds(patient: Manifest) -> None:
    assert ended(a_borrower(), patient) == []


def test_what_a_queue_uses_of_its_own_is_not_owed_again() -> None:
    own = at(a_training_job("own", gpus=2, queue="owner"), "node")
    assert ended(a_borrower(), own, waiting()) == []
    assert ended(a_borrower(), own, waiting(gpus=2)) == ["borrower"]


def test_within_its_own_guarantee_a_job_keeps_its_protection() -> None:
    assert ended(a_borrower(gpus=2), waiting()) == []
    assert ended(a_borrower(gpus=2), a_borrower("second", gpus=1), waiting()) == [
        "borrower",
        "second",
    ]


def test_what_a_parent_is_guaranteed_is_not_borrowed_from_outside() -> None:
    division = a_queue("division", guaranteed=6)
    child = {**LENDER, "spec": {**LENDER["spec"], "parent": "division"}}
    assert ended(division, a_borrower(), waiting()) == ["borrower"]
    found = protection(seen(NODE, division, child, OWNER, a_borrower(), waiting()))
    assert not found.ended
    sibling = {**OWNER, "spec": {**OWNER["spec"], "parent": "division"}}
    found = protection(seen(NODE, division, child, sibling, a_borrower(), waiting()))
    assert len(found.ended) == 1


def test_the_policy_says_how_long_the_grace_is() -> None:
    assert ended(a_policy(guaranteeGrace="12m"), a_borrower(), waiting()) == []
    assert ended(a_policy(guaranteeGrace="0s"), a_borrower(), waiting(0)) == ["borrower"]


def test_the_policys_own_budgets_hold_against_a_guarantee_too() -> None:
    spent = a_policy(disruptionBudgets=[{"window": "1h", "maxJobs": 0}])
    assert ended(spent, a_borrower(), waiting()) == []


def test_the_plan_may_disturb_it_then() -> None:
    def pinned(*manifests: Manifest) -> list[bool]:
        plan_input = plan_input_of(seen(NODE, OWNER, LENDER, *manifests), ProblemBuilder())
        return [job.pinned for job in plan_input.problem.jobs if job.running]

    assert pinned(a_borrower(), waiting(9)) == [True]
    assert pinned(a_borrower(), waiting(11)) == [False]


def test_a_service_that_borrows_gives_way_as_well() -> None:
    service = an_inference_job(
        "service", gpus=4, queue="borrower", template=a_template(labels=LABELS)
    )
    assert ended(*with_pods([at(service, "node")]), BUDGET, waiting()) == ["service"]
