from datetime import timedelta
from typing import Any

import pytest

from plimsoll.api.definition import API_VERSION
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.quota.job_limits import MOST_SIZES_AT_A_TIME, beyond_limits
from plimsoll.planning.training.batch_limits import MOST_SIZES
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_priority_class, a_queue, a_training_job


def a_policy(most: int) -> Manifest:
    return {
        "apiVersion": API_VERSION,
        "kind": "PlacementPolicy",
        "metadata": {"name": "default"},
        "spec": {"maxJobsPerNamespace": most},
    }


def a_job(name: str, *, minutes_old: int = 0, namespace: str = "team", **spec: Any) -> Manifest:  # noqa: ANN401
    job = a_training_job(name, **spec)
    created = (NOW - timedelta(minutes=minutes_old)).isoformat()
    job["metadata"] |= {"namespace": namespace, "creationTimestamp": created, "uid": name}
    return job


def too_many(*manifests: Manifest) -> list[str]:
    return [name.rpartition("/")[2] for name in beyond_limits(seen(*manifests))]


def test_the_youngest_of_too_many_wait_and_of_equals_the_last_by_name() -> None:
    jobs = [a_job("c", minutes_old=1), a_job("b"), a_job("d"), a_job("a", minutes_old=9)]
    assert too_many(a_policy(2), *jobs) == ["b", "d"]
    assert too_many(a_policy(3), *reversed(jobs)) == ["d"]
    assert too_many(a_policy(4), *jobs) == []


def test_what_runs_counts_first_and_is_never_too_many() -> None:
    running = [at(a_job(name), "node") for name in ("r1", "r2")]
    older = a_job("older", minutes_old=60)
    assert too_many(a_policy(2), older, *running) == ["older"]
    assert too_many(a_policy(1), older, *running) == ["older"]
    assert too_many(a_policy(3), older, *running) == []


def test_each_namespace_has_its_own_number() -> None:
    mine = [a_job(f"m{n}", namespace="mine") for n in range(3)]
    assert too_many(a_policy(2), *mine, a_job("theirs", namespace="theirs")) == ["m2"]


@pytest.mark.slow
def test_five_thousand_of_a_namespace_that_wait_are_planned_for_where_nobody_says() -> None:
    running = [at(a_job(f"r{n}"), "node") for n in range(3)]
    jobs = [a_job(f"j{n:04}") for n in range(5001)]
    assert too_many(*running, *jobs) == ["j5000"]
    assert too_many(*running, *jobs[:5000]) == []


def test_the_most_important_of_too_many_come_first() -> None:
    old = [a_job(name, minutes_old=9) for name in ("a", "b")]
    urgent = a_job("urgent", priorityClassName="urgent")
    assert too_many(a_policy(2), a_priority_class("urgent", 5), urgent, *old) == ["b"]


def test_jobs_that_are_over_or_suspended_do_not_count() -> None:
    since = NOW.isoformat()
    done = {"type": "Complete", "status": "True", "reason": "Done", "lastTransitionTime": since}
    over = {**a_job("over", minutes_old=9), "status": {"conditions": [done]}}
    assert too_many(a_policy(1), over, a_job("asleep", suspend=True), a_job("one")) == []


def test_a_queue_bounds_its_jobs_over_all_namespaces() -> None:
    jobs = [
        a_job("a", namespace="one", queue="small", minutes_old=2),
        a_job("b", namespace="two", queue="small", minutes_old=1),
        a_job("c", namespace="two"),
    ]
    assert too_many(a_queue("small", maxJobs=1), *jobs) == ["b"]
    assert too_many(a_queue("small"), *jobs) == []
    assert too_many(a_queue("small", maxJobs=0), *jobs) == ["a", "b"]


def test_who_waits_in_a_full_queue_takes_no_room_of_the_namespace() -> None:
    queued = [a_job(f"q{n}", queue="small", minutes_old=9) for n in range(3)]
    other = a_job("other")
    assert too_many(a_policy(2), a_queue("small", maxJobs=1), *queued, other) == ["q1", "q2"]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (
            [a_policy(1)],
            (
                "namespace team has more than 1 job, the most that are planned at a time: it waits"
                " for more important and older ones to end; suspend or delete some, or have"
                " maxJobsPerNamespace of the PlacementPolicy raised"
            ),
        ),
        (
            [a_queue("default", maxJobs=1)],
            (
                "queue default has more than 1 job, the most that are planned at a time: it waits"
                " for more important and older ones to end; suspend or delete some, or have maxJobs"
                " of JobQueue default raised"
            ),
        ),
    ],
)
def test_jobs_beyond_a_limit_say_so_and_are_no_part_of_the_problem(
    limits: list[Manifest], message: str
) -> None:
    jobs = [a_job("first", minutes_old=1), a_job("second")]
    plan_input = plan_input_of(seen(*limits, fake_node("node", gpus=8), *jobs), ProblemBuilder())
    assert [job.name for job in plan_input.problem.jobs] == ["TrainingJob/team/first"]
    (hold,) = plan_input.holds
    assert (hold.job, hold.reason) == ("TrainingJob/team/second", Reason.TOO_MANY_JOBS)
    assert hold.message == message


@pytest.mark.slow
def test_who_waits_beyond_five_thousand_is_told_what_lets_it_be_planned() -> None:
    beyond = beyond_limits(seen(*(a_job(f"j{n:04}") for n in range(5001))))
    assert beyond == {
        "TrainingJob/team/j5000": (
            "namespace team has more than 5000 waiting jobs, the most that are planned at a time:"
            " it waits for more important and older ones to start; suspend or delete some, or have"
            " maxJobsPerNamespace of the PlacementPolicy set to more than its jobs"
        )
    }


def an_elastic_job(name: str, *, minutes_old: int, **spec: Any) -> Manifest:  # noqa: ANN401 - fields of a spec
    """One with as many sizes as any: 64 counts on sixteen types."""
    kinds = [H100, *(f"GPU-{number}" for number in range(15))]
    rates = dict.fromkeys(kinds, 1)
    return a_job(name, minutes_old=minutes_old, workers=(1, 4096), rates=rates, **spec)


def test_of_costly_jobs_that_wait_so_many_are_planned_for_the_most_important_and_oldest() -> None:
    most = MOST_SIZES_AT_A_TIME // MOST_SIZES
    jobs = [an_elastic_job(f"j{n:03}", minutes_old=999 - n) for n in range(most + 2)]
    urgent = an_elastic_job("urgent", minutes_old=0, priorityClassName="urgent")
    assert too_many(*jobs[:most]) == []
    assert too_many(*jobs) == [f"j{most:03}", f"j{most + 1:03}"]
    waits = [f"j{n:03}" for n in range(most - 1, most + 2)]
    assert too_many(a_priority_class("urgent", 5), urgent, *jobs) == waits


def test_costly_jobs_of_one_namespace_and_those_that_run_keep_no_other_from_being_planned() -> None:
    jobs = [an_elastic_job(f"j{n:03}", minutes_old=99, namespace="costly") for n in range(70)]
    running = [at(job, "node") for job in jobs]
    other = an_elastic_job("other", minutes_old=1)
    assert "other" not in too_many(*jobs, other)
    assert too_many(*running, other) == []


def test_a_thousand_ordinary_jobs_that_wait_are_all_planned_for() -> None:
    ordinary = [a_job(f"j{n:04}", workers=(1, 32), rates={H100: 1, A100: 1}) for n in range(1000)]
    assert too_many(*ordinary) == []
