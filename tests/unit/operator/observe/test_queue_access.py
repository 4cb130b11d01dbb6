from collections.abc import Mapping
from typing import Any

import pytest

from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.actions import Hold
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from support.clusters.seen import NAMESPACE, at, seen, with_pods
from support.objects.job_manifests import a_priority_class, a_queue, a_training_job

TEAM: Mapping[str, Any] = {"matchLabels": {"team": "vision"}}
BY_NAME: Mapping[str, Any] = {
    "matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [NAMESPACE]}
    ]
}
NOT_OURS: Mapping[str, Any] = {
    "matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [NAMESPACE]}
    ]
}


def a_namespace(**labels: str) -> dict[str, Any]:
    metadata = {"name": NAMESPACE, "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def held(snapshot: Snapshot, name: str = "train") -> Hold | None:
    holds = plan_input_of(snapshot, ProblemBuilder()).holds
    return next((h for h in holds if h.job == JobName(f"TrainingJob/{NAMESPACE}/{name}")), None)


def waiting(selector: Mapping[str, Any] | None, **labels: str) -> Hold | None:
    """What becomes of a job in a namespace with these labels."""
    queue = a_queue("vision")
    if selector is not None:
        queue["spec"]["namespaceSelector"] = selector
    job = a_training_job("train", queue="vision")
    return held(seen(fake_node("node"), a_namespace(**labels), queue, job))


@pytest.mark.parametrize("selector", [None, {}, BY_NAME])
def test_a_queue_takes_the_jobs_of_a_namespace_that_it_selects(
    selector: Mapping[str, Any] | None,
) -> None:
    assert waiting(selector) is None


def test_a_queue_takes_the_jobs_of_a_namespace_with_its_labels() -> None:
    assert waiting(TEAM, team="vision") is None


@pytest.mark.parametrize("labels", [{}, {"team": "speech"}])
def test_others_are_held_with_a_reason(labels: Mapping[str, str]) -> None:
    hold = waiting(TEAM, **labels)
    assert hold is not None
    assert hold.reason is Reason.QUEUE_NOT_ALLOWED
    assert "queue vision takes no jobs of namespace team" in hold.message


def test_a_namespace_may_be_left_out_by_its_name() -> None:
    hold = waiting(NOT_OURS)
    assert hold is not None
    assert hold.reason is Reason.QUEUE_NOT_ALLOWED


def test_nobody_may_call_a_namespace_by_anothers_name() -> None:
    selector = {"matchLabels": {"kubernetes.io/metadata.name": "admin"}}
    assert waiting(selector, **{"kubernetes.io/metadata.name": "admin"}) is not None


def test_the_default_queue_can_be_closed_too() -> None:
    queue = a_queue("default", namespaceSelector=TEAM)
    assert held(seen(fake_node("node"), queue, a_training_job("train"))) is not None
    assert held(seen(fake_node("node"), a_training_job("train"))) is None


def test_what_runs_already_is_left_alone() -> None:
    queue = a_queue("vision", namespaceSelector=TEAM)
    job = at(a_training_job("train", queue="vision"), "node")
    assert held(seen(fake_node("node"), queue, *with_pods([job]))) is None


@pytest.mark.parametrize("named", [None, "batch"])
def test_a_queue_takes_jobs_of_the_priorities_that_it_lists(named: str | None) -> None:
    assert urgent(named, ["batch"]) is None


@pytest.mark.parametrize(("listed", "words"), [(["batch"], "only batch"), ([], "nor any other")])
def test_a_job_that_is_more_urgent_than_its_queue_allows_is_held(
    listed: list[str], words: str
) -> None:
    hold = urgent("urgent", listed)
    assert hold is not None
    assert hold.reason is Reason.PRIORITY_NOT_ALLOWED
    assert f"queue vision allows its jobs no PriorityClass urgent, {words}" in hold.message


def test_a_queue_that_lists_no_priorities_takes_all() -> None:
    assert urgent("urgent", None) is None


def urgent(named: str | None, listed: list[str] | None) -> Hold | None:
    """What becomes of a job with this PriorityClass in a queue that lists these."""
    queue = a_queue("vision")
    if listed is not None:
        queue["spec"]["priorityClassNames"] = listed
    job = a_training_job("train", queue="vision")
    if named is not None:
        job["spec"]["priorityClassName"] = named
    classes = [a_priority_class(name, 10) for name in ("batch", "urgent")]
    return held(seen(fake_node("node"), queue, *classes, job))
