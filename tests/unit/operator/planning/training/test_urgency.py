"""How much a waiting training job counts beside others of its priority."""

from datetime import timedelta
from typing import Any

import pytest

from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.training.urgency import urgency_milli
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_training_job


def a_job(*, hours_of_work: float = 1, hours_left: float | None = None, **fields: Any) -> Manifest:  # noqa: ANN401
    work: Manifest = {"amount": int(hours_of_work * 36_000)}
    if hours_left is not None:
        work["deadline"] = (NOW + timedelta(hours=hours_left)).isoformat()
    return a_training_job("job", rates={H100: {1: 10}}, work=work, **fields)


def waiting_for(hours: float, job: Manifest) -> Manifest:
    since = (NOW - timedelta(hours=hours)).isoformat()
    admitted = {"type": "Admitted", "status": "False", "reason": "Why", "lastTransitionTime": since}
    return {**job, "status": {"conditions": [admitted]}}


def urgency(job: Manifest) -> int:
    (view,) = seen(job).jobs
    assert isinstance(view.resource, TrainingJob)
    return urgency_milli(view.resource, NOW)


@pytest.mark.parametrize(
    ("hours_left", "milli"),
    [(None, 1000), (10, 1000), (2, 1000), (1.5, 1250), (1.2, 1500), (1, 2000), (-1, 2000)],
)
def test_a_deadline_presses_once_half_the_time_is_needed(
    hours_left: float | None, milli: int
) -> None:
    assert urgency(a_job(hours_left=hours_left)) == milli


@pytest.mark.parametrize(("hours", "milli"), [(1, 1000), (6, 1250), (13, 1500), (999, 2000)])
def test_who_has_waited_long_counts_more(hours: float, milli: int) -> None:
    assert urgency(waiting_for(hours, a_job())) == milli


def test_who_runs_is_not_urgent() -> None:
    assert urgency(at(a_job(hours_left=1), "n-0")) == 1000


def test_of_two_that_are_else_alike_the_one_whose_deadline_presses_goes_first() -> None:
    late: Manifest = {**a_job(hours_left=1), "metadata": {"name": "late"}}
    first: Manifest = {**a_job(), "metadata": {"name": "first"}}
    plan_input = plan_input_of(seen(fake_node("n-0", gpus=1), first, late), ProblemBuilder())
    assert [name.rpartition("/")[2] for name in solve(plan_input.problem).placements] == ["late"]
