from datetime import timedelta
from typing import Any

import pytest

from plimsoll.observe.snapshot import Snapshot
from plimsoll_console.notifications.occurrences import Kind, occurrences
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, seen
from support.objects.bought_nodes import a_claim, a_growing_pool, a_node_of
from support.objects.job_manifests import a_queue, a_training_job, an_inference_job

BEFORE = (NOW - timedelta(minutes=10)).isoformat()
LATELY = (NOW - timedelta(seconds=10)).isoformat()


def a_condition(kind: str, *, holds: bool, since: str = BEFORE) -> Manifest:
    status = "True" if holds else "False"
    return {"type": kind, "status": status, "reason": "Pending", "lastTransitionTime": since}


def waiting(reason: str, *, since: str = BEFORE, **status: Any) -> Manifest:  # noqa: ANN401
    facts = {"reason": reason, "conditions": [a_condition("Admitted", holds=False, since=since)]}
    return a_training_job("job") | {"status": facts | status}


def kinds(snapshot: Snapshot) -> list[Kind]:
    return [each.kind for each in occurrences(snapshot)]


def test_a_gang_has_started_once_all_its_workers_run() -> None:
    admitted = at(a_training_job("job"), "n-1", conditions=[a_condition("Admitted", holds=True)])
    assert not kinds(seen(admitted))
    running = at(
        a_training_job("job"),
        "n-1",
        conditions=[a_condition("Running", holds=True)],
        startedTime=LATELY,
    )
    (found,) = occurrences(seen(running))
    assert (found.kind, found.subject) == (Kind.STARTED, "TrainingJob/team/job")
    assert found.at == NOW - timedelta(seconds=10)


def test_a_service_has_started_once_it_runs() -> None:
    running = at(an_inference_job("chat"), "n-1", conditions=[a_condition("Running", holds=True)])
    assert kinds(seen(running)) == [Kind.STARTED]


@pytest.mark.parametrize(("ended", "kind"), [("Complete", Kind.COMPLETED), ("Failed", Kind.FAILED)])
def test_a_job_that_has_ended_did_nothing_later(ended: str, kind: Kind) -> None:
    facts = [a_condition(ended, holds=True), a_condition("Admitted", holds=False)]
    assert kinds(seen(waiting("Completed", conditions=facts, revision=3))) == [kind]


def test_a_job_that_waits_for_its_turn_is_nothing_to_tell() -> None:
    assert not kinds(seen(waiting("LowerPriority")))


def test_a_job_that_waits_again_has_lost_its_place_whatever_it_waits_for_now() -> None:
    assert kinds(seen(waiting("LowerPriority", revision=1))) == [Kind.PREEMPTED]


@pytest.mark.parametrize("reason", ["Suspended", "ScaledToZero"])
def test_who_gave_a_place_up_did_not_lose_it(reason: str) -> None:
    assert not kinds(seen(waiting(reason, revision=1)))


def test_a_job_cannot_run_once_that_has_been_so_for_a_minute() -> None:
    assert kinds(seen(waiting("CannotFit"))) == [Kind.CANNOT_RUN]
    assert not kinds(seen(waiting("CannotFit", since=LATELY)))


def test_a_budget_is_used_when_a_further_node_may_be_too_much() -> None:
    pool = a_growing_pool(price="2", gpus=8)
    order, node = a_claim("c", node="n-1", arrived=True), a_node_of("h100", "n-1")
    job = at(a_training_job("job", gpus=8, queue="vision"), "n-1")
    cluster = (pool, order, node, job)
    used = a_queue("vision", purchasing={"mostPerHour": "17"})
    (found,) = occurrences(seen(*cluster, used))
    assert (found.kind, found.subject) == (Kind.BUDGET_USED, "JobQueue/vision")
    assert found.numbers == {"perHour": 16, "mostPerHour": 17}
    assert not kinds(seen(*cluster, a_queue("vision", purchasing={"mostPerHour": "32"})))
    above = a_queue("team", purchasing={"mostPerHour": "17"})
    (found,) = occurrences(seen(*cluster, above, a_queue("vision", parent="team")))
    assert found.subject == "JobQueue/team"
