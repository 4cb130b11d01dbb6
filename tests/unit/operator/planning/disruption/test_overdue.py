"""A job that has waited for long enough need no longer pay for what lower priorities lose."""

from datetime import timedelta

import pytest

from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import JobName
from support.clusters.seen import NOW, seen
from support.objects.job_manifests import a_policy, a_training_job, an_inference_job


def a_waiting_job(reason: str, minutes: int) -> Manifest:
    admitted = a_condition("Admitted", reason, minutes, status="False")
    return {**a_training_job("job"), "status": {"conditions": [admitted]}}


def a_condition(kind: str, reason: str, minutes: int, *, status: str) -> Manifest:
    since = (NOW - timedelta(minutes=minutes)).isoformat()
    said = {"type": kind, "status": status, "reason": reason, "message": "why"}
    return {**said, "lastTransitionTime": since}


def is_overdue(*manifests: Manifest, name: str = "TrainingJob/team/job") -> bool:
    snapshot = seen(fake_node("n-0"), *manifests)
    problem = plan_input_of(snapshot, ProblemBuilder()).problem
    return problem.job_by_name[JobName(name)].overdue


@pytest.mark.parametrize(("minutes", "expected"), [(59, False), (61, True)])
def test_a_job_is_overdue_once_it_has_waited_for_room_for_the_grace(
    minutes: int, *, expected: bool
) -> None:
    assert is_overdue(a_waiting_job("InsufficientGPUs", minutes)) is expected


def test_a_job_that_waits_for_something_else_is_not() -> None:
    assert not is_overdue(a_waiting_job("QueueLimit", 600))
    assert not is_overdue(a_training_job("job"))


@pytest.mark.parametrize(
    ("reason", "minutes", "expected"),
    [("ReplicasMissing", 61, True), ("ReplicasMissing", 59, False), ("Running", 61, False)],
)
def test_a_service_is_overdue_once_it_has_lacked_replicas_for_the_grace(
    reason: str, minutes: int, *, expected: bool
) -> None:
    lacks = reason == "ReplicasMissing"
    degraded = a_condition("Degraded", reason, minutes, status=str(lacks))
    service = {**an_inference_job("job"), "status": {"conditions": [degraded]}}
    assert is_overdue(service, name="InferenceJob/team/job") is expected


def test_the_policy_sets_the_grace() -> None:
    short = a_policy(disruptionPrice={"priorityGrace": "10m"})
    assert is_overdue(short, a_waiting_job("InsufficientGPUs", 11))
    at_once = a_policy(disruptionPrice={"priorityGrace": "0s"})
    assert is_overdue(at_once, a_training_job("job"))
