"""How many jobs of a queue have a place, and how many wait."""

import pytest

from plimsoll.acting.cluster.cluster_status import cluster_statuses
from plimsoll.api.job_queue import JobQueueStatus
from plimsoll.planning.actions import Plan
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_placement.solution import Outcome
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_queue, a_training_job

PLAN = Plan(NOW, (), (), 0.0, Outcome.GREEDY, 0)


@pytest.mark.parametrize(
    ("queue", "admitted", "pending"),
    [("labs", 2, 3), ("vision", 1, 2), ("speech", 1, 1), ("empty", 0, 0)],
)
def test_a_queues_jobs_are_counted_with_those_of_its_children(
    queue: str, admitted: int, pending: int
) -> None:
    snapshot = seen(
        fake_node("n-1"),
        *(a_queue("labs"), a_queue("empty", parent="labs")),
        *(a_queue(name, parent="labs") for name in ("vision", "speech")),
        at(a_training_job("one", gpus=4, queue="vision"), "n-1"),
        at(a_training_job("two", gpus=4, queue="speech"), "n-1"),
        a_training_job("three", gpus=8, queue="vision"),
        a_training_job("four", gpus=8, queue="vision"),
        a_training_job("five", gpus=8, queue="speech"),
        a_training_job("suspended", queue="speech", suspend=True),
        a_training_job("lost", queue="nowhere"),
    )
    problem = plan_input_of(snapshot, ProblemBuilder()).as_it_runs
    found = {r.metadata.name: s for r, s in cluster_statuses(snapshot, problem, PLAN, ())}
    status = found[queue]
    assert isinstance(status, JobQueueStatus)
    assert (status.admitted, status.pending) == (admitted, pending)
