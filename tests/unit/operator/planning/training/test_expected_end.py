"""When a job is done is known as far as its work and its rate are."""

from datetime import timedelta
from typing import Any

import pytest

from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.training.expected_end import (
    expected_ends,
    seconds_left,
    time_left,
    work_seconds,
)
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from support.clusters.seen import NOW, at, objects_of, seen
from support.objects.job_manifests import a_training_job, an_inference_job, without_speeds

WORK = {"amount": 3600, "unit": "steps"}


def a_job(*nodes: str, **status: Any) -> TrainingJob:  # noqa: ANN401 - fields of a status
    manifest = a_training_job("job", workers=(1, 2), rates={H100: {1: 1, 2: 2}}, work=WORK)
    [job] = objects_of(at(manifest, *nodes, **status)).resources
    assert isinstance(job, TrainingJob)
    return job


def ago(seconds: int) -> str:
    return (NOW - timedelta(seconds=seconds)).isoformat()


@pytest.mark.parametrize(
    ("status", "seconds"),
    [
        ({"startedTime": ago(600)}, 3000),
        ({"startedTime": ago(4000)}, -400),
        ({"progress": {"done": 3000, "unit": "steps"}}, 600),
        ({"progress": {"done": 3000, "unit": "steps", "rate": 2}}, 300),
        ({"progress": {"done": 4000, "unit": "steps"}}, 0),
        ({"progress": {"done": 3000, "unit": "tokens"}, "startedTime": ago(600)}, 3000),
        ({"expectedCompletion": ago(-120), "startedTime": ago(600)}, 120),
        ({}, 3600),
    ],
)
def test_the_best_that_is_known_of_its_end_counts(
    status: dict[str, Any], seconds: int | None
) -> None:
    assert seconds_left(a_job("n-0", **status), NOW) == seconds


def test_more_workers_are_done_sooner() -> None:
    job = a_job("n-0", "n-1", progress={"done": 0, "unit": "steps"})
    assert seconds_left(job, NOW) == 1800


def test_a_job_that_does_not_run_has_no_end() -> None:
    waits = a_training_job("waits", work=WORK)
    unlimited = at(a_training_job("unlimited"), "n-0", startedTime=ago(600))
    serves = at(an_inference_job("serves"), "n-0")
    assert expected_ends(seen(waits, unlimited, serves)) == {}


def test_ends_are_reported_by_the_full_names_of_jobs() -> None:
    runs = at(a_training_job("runs", work=WORK), "n-0", startedTime=ago(600))
    assert expected_ends(seen(runs)) == {"TrainingJob/team/runs": 3000}


def test_how_long_all_the_work_takes_includes_the_start() -> None:
    job = a_job("n-0")
    assert work_seconds(job, H100, 2) == 1800 + job.spec.checkpoint.restore_seconds
    assert work_seconds(job, "Tesla-T4", 1) is None


def test_where_speeds_are_only_assumed_no_end_is_promised() -> None:
    job = without_speeds(a_training_job("job", work=WORK | {"deadline": ago(-7200)}))
    for nodes in ([], ["n-0"]):
        (view,) = seen(fake_node("n-0"), at(job, *nodes) if nodes else job).jobs
        assert view.training is not None
        assert seconds_left(view.training, NOW) is None
        assert time_left(view.training, NOW) is None
        assert work_seconds(view.training, H100, 1) is None


def test_once_workers_have_reported_it_is() -> None:
    measured = [{"type": H100, "workers": 1, "rate": "2", "seconds": 36_000}]
    job = at(without_speeds(a_training_job("job", work=WORK)), "n-0", measured=measured)
    (view,) = seen(fake_node("n-0"), job).jobs
    assert view.training is not None
    assert seconds_left(view.training, NOW) == 1800
