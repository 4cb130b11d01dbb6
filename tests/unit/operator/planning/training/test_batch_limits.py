"""With which batch a job may run, and at which worker counts."""

from typing import Any

import pytest

from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.disruption.budgets import protection
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.training.batch_limits import allowed_counts, least_batch, no_batch
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.solve import solve
from support.clusters.seen import at, seen
from support.objects.job_manifests import a_training_job

NODE = fake_node("n-0", gpus=8)


def a_job(
    batch: Manifest | None,
    workers: int | tuple[int, int] = (1, 8),
    local: dict[str, int] | None = None,
    **spec: Any,  # noqa: ANN401 - fields of a job's spec
) -> Manifest:
    """A job whose ranks have memory for so many samples by GPU type."""
    rates = dict.fromkeys(local or {H100: 0}, 1)
    job = a_training_job("job", workers=workers, rates=rates, **spec)
    if batch is not None:
        job["spec"]["batch"] = batch
    for each in job["spec"]["accelerators"]:
        if local:
            each["maxLocalBatch"] = local[each["type"]]
    return job


def read(job: Manifest) -> TrainingJob:
    return TrainingJob.model_validate(job)


def counts(batch: Manifest | None, **fields: Any) -> tuple[int, ...]:  # noqa: ANN401 - of a_job
    return allowed_counts(read(a_job(batch, **fields)))


def test_without_a_batch_every_count_is_allowed() -> None:
    assert counts(None) == tuple(range(1, 9))


def test_a_batch_that_stays_the_same_allows_the_counts_that_divide_it() -> None:
    assert counts({"size": 12}) == (1, 2, 3, 4, 6)


def test_counts_that_memory_is_too_small_for_need_accumulation() -> None:
    assert counts({"size": 64}, local={H100: 16}) == (4, 8)
    assert counts({"size": 64, "maxAccumulation": 2}, local={H100: 16}) == (2, 4, 8)


def test_a_count_must_do_on_every_type() -> None:
    assert counts({"size": 64}, local={H100: 32, A100: 8}) == (8,)


def test_each_gpu_of_a_worker_is_a_rank_unless_they_hold_one_model() -> None:
    batch = {"size": 24}
    assert counts(batch, gpus=4) == (1, 2, 3, 6)
    assert counts({**batch, "ranksPerWorker": 1}, gpus=4) == (1, 2, 3, 4, 6, 8)


def test_part_of_a_gpu_is_one_rank() -> None:
    assert counts({"size": 4}, gpus="0.5") == (1, 2, 4)


def test_a_batch_that_may_grow_is_rounded_up() -> None:
    assert counts({"size": 10, "maxSize": 12}) == (1, 2, 3, 4, 5, 6)
    job = read(a_job({"size": 10, "maxSize": 12}))
    assert [getattr(least_batch(job, H100, n), "size", None) for n in (3, 4)] == [12, 12]


@pytest.mark.parametrize("workers", [1, 2, 4, 8])
def test_whatever_the_count_a_step_takes_as_many_samples(workers: int) -> None:
    job = read(a_job({"size": 96, "maxAccumulation": 16}, local={H100: 7}))
    division = least_batch(job, H100, workers)
    assert division is not None
    assert division.local_batch * division.passes * workers == 96
    assert division.local_batch <= 7


def test_a_batch_is_divided_into_as_few_passes_as_memory_allows() -> None:
    job = read(a_job({"size": 96, "maxAccumulation": 16}, local={H100: 24}))
    assert [getattr(least_batch(job, H100, n), "passes", 0) for n in (1, 2, 4)] == [4, 2, 1]


def planned(job: Manifest) -> Any:  # noqa: ANN401 - a change or a hold
    snapshot = seen(NODE, job)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    plan = plan_of(snapshot, PlanResult(plan_input, solve(plan_input.problem)))
    return (*plan.changes, *plan.holds)


def test_the_plan_takes_no_count_without_a_batch() -> None:
    (admit,) = planned(a_job({"size": 7 * 5}))
    assert len(admit.assignments) == 7
    (admit,) = planned(a_job({"size": 64}))
    assert len(admit.assignments) == 8


def test_a_job_that_can_have_no_batch_names_the_field_to_change() -> None:
    (hold,) = planned(a_job({"size": 100}, workers=(6, 8), local={H100: 3}))
    assert hold.reason == "InvalidSpec"
    assert hold.inadmissible
    assert hold.message == (
        "spec.batch: 100 samples cannot be divided among any of 6 to 8 workers of 1 ranks in at"
        f" most 1 passes, 3 at once ({H100}): change batch.size or workers, raise"
        " batch.maxAccumulation or maxLocalBatch, or remove that type"
    )


def test_a_job_that_can_have_no_batch_any_more_is_not_stopped() -> None:
    job = at(a_job({"size": 100}, workers=3), "n-0", "n-0", "n-0")
    assert no_batch(read(job))
    assert planned(job) == ()


def test_a_gang_of_a_size_that_no_longer_divides_its_batch_is_not_protected() -> None:
    rules = {"minRuntime": "24h"}
    jobs = (a_job({"size": size}, disruption=rules) for size in (3, 4))
    right, wrong = (at(job, "n-0", "n-0", "n-0") for job in jobs)
    for job, protected in ((right, True), (wrong, False)):
        job["status"]["admittedTime"] = "2026-11-21T11:59:00Z"
        assert bool(protection(seen(NODE, job)).jobs) is protected
