"""Whose turn it is, by what queues have had of late."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.quota.fair_share import MOST_MILLI
from plimsoll.planning.training.order import head_start_milli
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_policy, a_queue, a_training_job, an_inference_job

PLAIN = 1000
OF_ONE_GPU = head_start_milli(TrainingJob.model_validate(a_training_job("any")))
"""What all jobs here have beside."""


def a_history(queue: Manifest, average: Mapping[str, float]) -> Manifest:
    usage = [{"type": kind, "average": str(gpus)} for kind, gpus in average.items()]
    return {**queue, "status": {"usage": usage, "countedUntil": NOW.isoformat()}}


def had(name: str, gpus: float, **spec: Any) -> Manifest:  # noqa: ANN401 - fields of a queue's spec
    """A queue that held so many H100 on average."""
    return a_history(a_queue(name, **spec), {H100: gpus})


def urgencies(*manifests: Manifest, jobs: Iterable[Manifest] | None = None) -> dict[str, int]:
    """How urgent jobs are on 8 GPUs; without others one waiting job in each queue."""
    asking = jobs or [
        a_training_job(each["metadata"]["name"], queue=each["metadata"]["name"])
        for each in manifests
        if each["kind"] == "JobQueue"
    ]
    snapshot = seen(fake_node("h", H100, 8), fake_node("a", A100, 8), *manifests, *asking)
    problem = plan_input_of(snapshot, ProblemBuilder()).problem
    starts = {job.name: 0 if job.gang and job.running else OF_ONE_GPU for job in problem.jobs}
    return {
        job.name.rpartition("/")[2]: job.urgency_milli - starts[job.name] for job in problem.jobs
    }


def test_without_a_past_all_are_alike() -> None:
    assert urgencies(a_queue("one"), a_queue("two")) == {"one": PLAIN, "two": PLAIN}


def test_who_had_nothing_is_most_urgent_beside_one_that_had_all() -> None:
    assert urgencies(had("one", 8), had("two", 0)) == {"one": PLAIN, "two": PLAIN + MOST_MILLI}


def test_who_had_as_much_of_its_share_has_no_credit() -> None:
    even = urgencies(had("one", 2, weight=1), had("three", 6, weight=3))
    assert even == {"one": PLAIN, "three": PLAIN}


def test_a_little_use_in_an_empty_cluster_is_no_great_debt() -> None:
    found = urgencies(had("one", 0.4), had("two", 0))
    assert found == {"one": PLAIN, "two": PLAIN + MOST_MILLI // 10}


def test_a_guarantee_is_part_of_the_share() -> None:
    found = urgencies(had("owner", 6, guaranteed=4), had("guest", 2))
    assert found == {"owner": PLAIN, "guest": PLAIN}


def test_what_runs_is_not_urgent() -> None:
    jobs = [
        at(a_training_job("runs", queue="two"), "h"),
        a_training_job("waits", queue="two"),
        a_training_job("other", queue="one"),
    ]
    found = urgencies(had("one", 8), had("two", 0), jobs=jobs)
    assert (found["runs"], found["waits"]) == (PLAIN, PLAIN + MOST_MILLI)


def test_services_have_their_queues_credit_too() -> None:
    jobs = [an_inference_job("service", queue="two"), a_training_job("other", queue="one")]
    assert urgencies(had("one", 8), had("two", 0), jobs=jobs)["service"] == PLAIN + MOST_MILLI


def test_only_types_that_the_job_can_run_on_count() -> None:
    jobs = [
        a_training_job("on-a100", queue="two", rates={A100: 1}),
        a_training_job("other", queue="one", rates={H100: 1, A100: 1}),
    ]
    found = urgencies(had("one", 8), had("two", 0), jobs=jobs)
    assert found["on-a100"] == PLAIN


def test_a_division_pays_for_its_parts_before_they_settle_among_themselves() -> None:
    tree = [
        had("division", 8),
        had("heavy", 8, parent="division"),
        had("light", 0, parent="division"),
        had("other", 0),
    ]
    leaves = [a_training_job(name, queue=name) for name in ("heavy", "light", "other")]
    found = urgencies(*tree, jobs=leaves)
    assert found["heavy"] == PLAIN
    assert found["heavy"] < found["light"] < found["other"] <= PLAIN + MOST_MILLI


def test_a_queue_that_is_not_there_has_no_credit() -> None:
    found = urgencies(had("one", 8), jobs=[a_training_job("j"), a_training_job("k", queue="one")])
    assert found == {"j": PLAIN, "k": PLAIN}


def test_a_policy_can_leave_the_past_out() -> None:
    policy = a_policy(fairness={"usageHalfLife": "0s"})
    found = urgencies(had("one", 8), had("two", 0), policy)
    assert found == {"one": PLAIN, "two": PLAIN}


@pytest.mark.parametrize("first", ["one", "two"])
def test_of_two_that_wait_the_one_that_had_less_gets_the_place(first: str) -> None:
    older = {"creationTimestamp": (NOW - timedelta(days=1)).isoformat()}
    jobs = [a_training_job(name, workers=8, queue=name) for name in ("one", "two")]
    for job in jobs:
        job["metadata"] |= older if job["metadata"]["name"] == first else {}
    snapshot = seen(fake_node("h", H100, 8), had("one", 5), had("two", 3), *jobs)
    placed = solve(plan_input_of(snapshot, ProblemBuilder()).problem).placements
    assert [name.rpartition("/")[2] for name in placed] == ["two"]


amounts = st.floats(0, 16).map(lambda gpus: round(gpus, 2))


@given(st.lists(st.tuples(amounts, st.integers(1, 9)), min_size=1, max_size=5))
def test_credit_is_bounded_and_somebody_has_none(terms: list[tuple[float, int]]) -> None:
    known = [had(f"q{i}", gpus, weight=weight) for i, (gpus, weight) in enumerate(terms)]
    found = urgencies(*known)
    assert min(found.values()) == PLAIN
    assert max(found.values()) <= PLAIN + MOST_MILLI


@given(amounts, amounts)
def test_who_had_less_is_never_less_urgent(one: float, two: float) -> None:
    found = urgencies(had("one", one), had("two", two))
    assert (found["one"] - found["two"]) * (one - two) <= 0
