"""A job that has waited for long enough need no longer pay for what lower priorities lose."""

from datetime import timedelta

import pytest

from plimsoll.observe.snapshot import JobName
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import JobName as SolverName
from support.clusters.seen import NOW, seen
from support.objects.job_manifests import a_policy, a_training_job

NAME = JobName("TrainingJob/team/job")


def a_waiting_job(reason: str, minutes: int) -> Manifest:
    since = (NOW - timedelta(minutes=minutes)).isoformat()
    admitted = {"type": "Admitted", "status": "False", "reason": reason, "message": "why"}
    return {
        **a_training_job("job"),
        "status": {"conditions": [{**admitted, "lastTransitionTime": since}]},
    }


def is_overdue(*manifests: Manifest) -> bool:
    snapshot = seen(fake_node("n-0"), *manifests)
    problem = plan_input_of(snapshot, ProblemBuilder()).problem
    return problem.job_by_name[SolverName(NAME)].overdue


@pytest.mark.parametrize(("minutes", "expected"), [(59, False), (61, True)])
def test_a_job_is_overdue_once_it_has_waited_for_room_for_the_grace(
    minutes: int, *, expected: bool
) -> None:
    assert is_overdue(a_waiting_job("InsufficientGPUs", minutes)) is expected


def test_a_job_that_waits_for_something_else_is_not() -> None:
    assert not is_overdue(a_waiting_job("QueueLimit", 600))
    assert not is_overdue(a_training_job("job"))


def test_the_policy_sets_the_grace() -> None:
    short = a_policy(disruptionPrice={"priorityGrace": "10m"})
    assert is_overdue(short, a_waiting_job("InsufficientGPUs", 11))
    at_once = a_policy(disruptionPrice={"priorityGrace": "0s"})
    assert is_overdue(at_once, a_training_job("job"))
