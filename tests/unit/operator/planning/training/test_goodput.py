"""How much a job gets done with which batch, and when another batch is worth a restart."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.actions import Migrate
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.training.batch_choice import better_batch, better_live_batch, chosen_batch
from plimsoll.planning.training.goodput import GoodputTerms
from plimsoll.planning.training.rates import expected_rates, known_goodput, stated_rates
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_training_job

NODE = fake_node("n-0", gpus=8)
GROWS = {"size": 128, "maxSize": 2048, "maxAccumulation": 4}
SCALES_BADLY = {H100: {1: 100, 2: 150, 4: 200, 8: 240}}
LINEAR = {H100: {1: 100, 8: 800}}
NOISY, CLEAR = 10_000, 10


def a_job(noise: int | None = NOISY, **spec: Any) -> Manifest:  # noqa: ANN401 - of a job's spec
    """A job of one to eight workers that counts samples, and whose batch may grow."""
    plain: dict[str, Any] = {
        "workers": (1, 8),
        "rates": SCALES_BADLY,
        "batch": GROWS,
        "work": {"amount": 10**7, "unit": "samples"},
        "checkpoint": {"saveSeconds": 60, "restoreSeconds": 90},
    }
    job = a_training_job("job", **{**plain, **spec})
    progress = {"done": 1, "unit": "samples", "lastCheckpoint": NOW.isoformat()}
    if noise is not None:
        progress["gradientNoise"] = noise
    return {**job, "status": {"progress": progress}}


def running(job: Manifest, workers: int, batch: int = 128, **status: Any) -> Manifest:  # noqa: ANN401
    """The job where it has run for an hour, with a batch."""
    since = (NOW - timedelta(hours=1)).isoformat()
    found = at(job, *["n-0"] * workers, **{**job["status"], "startedTime": since, **status})
    local = {"size": batch, "local": batch // workers, "accumulation": 1}
    found["status"]["placement"]["batch"] = local
    return found


def measured(workers: int, batch: int, rate: float) -> Manifest:
    return {"type": H100, "workers": workers, "batch": batch, "rate": str(rate), "seconds": 3600}


def read(job: Manifest) -> TrainingJob:
    return TrainingJob.model_validate(job)


def chosen(job: Manifest, workers: int = 8) -> int:
    batch = chosen_batch(read(job), H100, workers)
    assert batch is not None
    assert batch.local * batch.accumulation * workers == batch.size
    return batch.size


def test_noisy_gradients_are_worth_a_larger_batch_than_clear_ones() -> None:
    assert chosen(a_job(NOISY)) > chosen(a_job(CLEAR)) == 128


def test_where_no_noise_is_known_or_no_growth_allowed_the_batch_stays() -> None:
    assert chosen(a_job(None)) == 128
    assert chosen(a_job(batch={"size": 128})) == 128


def test_where_nothing_is_lost_to_exchange_the_batch_stays() -> None:
    assert chosen(a_job(rates=LINEAR)) == 128


def test_the_worse_a_job_scales_the_larger_its_batch() -> None:
    assert chosen(a_job(), 8) > chosen(a_job(), 2) >= 128


def test_a_batch_that_no_whole_samples_allow_is_not_chosen() -> None:
    # Two passes of four workers take 8 samples or 16, which is too few or too many.
    job = a_job(0, batch={"size": 9, "maxSize": 12, "maxAccumulation": 3})
    job["spec"]["accelerators"][0]["maxLocalBatch"] = 2
    assert chosen(job, workers=4) == 12


@given(st.data(), st.integers(1, 8), st.integers(1, 1000), st.integers(0, 10**6))
def test_no_batch_is_one_that_the_job_does_not_allow(
    data: st.DataObject, workers: int, local: int, noise: int
) -> None:
    size = data.draw(st.integers(8, 500))
    most = data.draw(st.integers(size, 5000))
    batch = {"size": size, "maxSize": most, "maxAccumulation": data.draw(st.integers(1, 9))}
    job = a_job(noise, batch=batch)
    job["spec"]["accelerators"][0]["maxLocalBatch"] = local
    found = chosen_batch(read(job), H100, workers)
    if found is not None:
        assert batch["size"] <= found.size <= batch["maxSize"]
        assert found.accumulation <= batch["maxAccumulation"]
        assert found.local <= local
        assert found.local * found.accumulation * workers == found.size


def test_with_a_batch_that_may_grow_larger_sizes_are_worth_more() -> None:
    job = read(a_job())
    stated, expected = stated_rates(job, (1, 8)), expected_rates(job, (1, 8))
    assert expected[H100, 8] / expected[H100, 1] > 1.5 * stated[H100, 8] / stated[H100, 1]


def test_the_size_that_runs_is_as_fast_as_with_the_batch_that_it_has() -> None:
    runs, waits = read(running(a_job(), 8)), read(a_job())
    assert expected_rates(runs, (8,))[H100, 8] == stated_rates(runs, (8,))[H100, 8]
    assert expected_rates(runs, (4,)) == expected_rates(waits, (4,))


def test_what_was_measured_with_a_batch_is_expected_with_it() -> None:
    job = read({**a_job(), "status": {**a_job()["status"], "measured": [measured(8, 1024, 333)]}})
    terms = GoodputTerms.of(job)
    assert terms is not None
    assert known_goodput(job, terms, [8]).rate((H100, 8), 1024) == pytest.approx(333, rel=0.02)


def test_a_larger_batch_that_proved_slower_is_given_up() -> None:
    tried = [measured(8, 128, 240), measured(8, 1024, 150), measured(8, 2048, 140)]
    job = a_job()
    job["status"]["measured"] = tried
    assert chosen(job) < 1024


def test_what_was_measured_with_a_batch_that_is_not_allowed_says_nothing() -> None:
    job = a_job()
    job["status"]["measured"] = [measured(8, 64, 1), {**measured(8, 4096, 1)}]
    assert expected_rates(read(job), (8,)) == expected_rates(read(a_job()), (8,))


def planned(job: Manifest) -> list[Any]:
    snapshot = seen(NODE, job)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    return list(plan_of(snapshot, PlanResult(plan_input, solve(plan_input.problem))).changes)


FIXED: dict[str, Any] = {"workers": 8}


def test_a_better_batch_that_pays_is_a_restart_in_place() -> None:
    [change] = planned(running(a_job(**FIXED), 8))
    assert isinstance(change, Migrate)
    assert change.reason == "BatchChanged"
    assert {name for assignment in change.assignments for name in assignment.nodes} == {"n-0"}
    assert change.message.startswith("batch from 128 to ")


def test_with_the_best_batch_nothing_changes() -> None:
    job = running(a_job(**FIXED), 8)
    better = better_batch(read(job), NOW)
    assert better is not None
    job["status"]["placement"]["batch"] = better.wire()
    assert better_batch(read(job), NOW) is None
    assert planned(job) == []


@pytest.mark.parametrize(
    "job",
    [
        a_job(CLEAR, **FIXED),
        a_job(**FIXED, disruption={"minRuntime": "2h"}),
        a_job(**FIXED, checkpoint={"saveSeconds": 1800, "restoreSeconds": 1800}),
    ],
    ids=["gains nothing", "is protected", "restarts slowly"],
)
def test_a_batch_alone_restarts_no_job_that(job: Manifest) -> None:
    assert planned(running(job, 8)) == []


def test_a_batch_alone_restarts_no_job_that_is_soon_done() -> None:
    soon = (NOW + timedelta(seconds=160)).isoformat()
    assert planned(running(a_job(**FIXED), 8, expectedCompletion=soon)) == []


@given(st.integers(0, 10**6), st.integers(1, 8), st.floats(1.0, 1000.0))
def test_a_batch_is_changed_once(noise: int, workers: int, rate: float) -> None:
    """With nothing new heard, the batch that was chosen stays, whatever was measured before."""
    job = running(a_job(noise), workers, 128, measured=[measured(workers, 128, rate)])
    if 128 % workers:
        return
    better = better_batch(read(job), NOW)
    if better is not None:
        job["status"]["placement"]["batch"] = better.wire()
        assert better_batch(read(job), NOW) is None


def adapting(job: Manifest, batch: int = 128) -> Manifest:
    """The same job, whose workers say which batch they train with."""
    job["status"]["progress"]["batch"] = batch
    return job


def test_workers_that_can_change_their_batch_are_not_restarted_for_a_better_one() -> None:
    job = adapting(running(a_job(**FIXED), 8))
    assert planned(job) == []
    assert better_batch(read(job), NOW) is None
    better = better_live_batch(read(job))
    assert better is not None
    job["status"]["placement"]["batch"] = better.wire()
    assert better_live_batch(read(job)) is None
    assert better_live_batch(read(running(a_job(**FIXED), 8))) is None


def test_a_size_is_worth_its_best_batch_to_workers_that_can_change_it() -> None:
    as_it_is, best = (
        expected_rates(read(job), [8])[H100, 8]
        for job in (running(a_job(), 8), adapting(running(a_job(), 8)))
    )
    assert best > 1.2 * as_it_is


def test_a_job_with_a_growing_batch_grows_no_further_than_twofold_at_once() -> None:
    """What is not known of larger sizes is not promised."""
    alone = {H100: {1: 100}}
    rates = expected_rates(read(a_job(rates=alone)), range(1, 9))
    assert [rates[H100, n] for n in (1, 2, 3, 8)] == [100, 200, 200, 200]
    tried = running(a_job(rates=alone), 2, measured=[measured(2, 128, 200)])
    rates = expected_rates(read(tried), range(1, 9))
    assert rates[H100, 4] > 1.5 * rates[H100, 2]
    assert rates[H100, 8] == rates[H100, 4]


def test_what_is_not_allowed_to_be_tried_step_by_step_may_be_tried() -> None:
    job = a_job(rates={H100: {1: 100}}, workers=(4, 8))
    assert expected_rates(read(job), [4, 8])[H100, 4] == 400


def test_a_job_with_a_fixed_batch_grows_as_far_as_it_likes() -> None:
    job = a_job(rates={H100: {1: 100}}, batch={"size": 128})
    assert expected_rates(read(job), [8])[H100, 8] == 800


def test_on_a_type_that_its_spec_no_longer_names_a_job_keeps_its_batch() -> None:
    job = adapting(running(a_job(), 8))
    job["spec"]["accelerators"] = [{"type": A100, "throughput": [{"workers": 1, "rate": 1}]}]
    assert better_live_batch(read(job)) is None
