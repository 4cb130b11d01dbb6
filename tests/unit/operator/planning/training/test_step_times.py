"""What a job's measured steps say of sizes and batches where it never ran."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.training.batch_choice import better_live_batch, chosen_batch
from plimsoll.planning.training.rates import expected_rates
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.estimate.throughput.noise import GradientNoise
from plimsoll_placement.estimate.throughput.scaling import Scaling
from support.clusters.seen import seen
from support.objects.job_manifests import a_training_job, without_speeds

TRUE = Scaling(0.02, 0.001, 0.05, 0.002, 0.4, 0.01, overlap=1.5)
"""What really happens: a step of 32 samples on one GPU takes 52 ms."""
NOISE = 4096.0
SMALLEST = 128
RATES = {H100: {1: 1000}, A100: {1: 500}}
ACROSS_FROM = 16


def a_job(*measured: Manifest, work: str = "samples", **spec: Any) -> Manifest:  # noqa: ANN401
    job = a_training_job(
        "job",
        workers=(1, 32),
        rates=RATES,
        batch={"size": SMALLEST, "maxSize": 4096, "maxAccumulation": 4},
        work={"amount": 10**9, "unit": work},
        **spec,
    )
    for accelerator in job["spec"]["accelerators"]:
        accelerator["maxLocalBatch"] = 256
    progress = {"done": 1, "unit": work, "gradientNoise": str(NOISE)}
    return {**job, "status": {"progress": progress, "measured": list(measured)}}


def step_seconds(workers: int, batch: int, passes: int = 1) -> float:
    nodes, ranks = np.array([2.0 if workers >= ACROSS_FROM else 1.0]), np.array([float(workers)])
    local = np.array([batch / workers / passes])
    step = TRUE.step_seconds(nodes, ranks, local) + (passes - 1) * TRUE.compute_seconds(local)
    return float(step[0])


def goodput(workers: int, batch: int, passes: int = 1) -> float:
    """Samples per second, each counted as what it brings at the smallest batch."""
    gain = GradientNoise(1.0, NOISE / SMALLEST).gain(np.array([batch / SMALLEST]))
    return float(gain[0]) * SMALLEST / step_seconds(workers, batch, passes)


def measured(
    workers: int, batch: int, passes: int = 1, *, samples_each: float = 1.0, kind: str = H100
) -> Manifest:
    return {
        "type": kind,
        "workers": workers,
        "batch": batch,
        "accumulation": passes,
        "nodes": 2 if workers >= ACROSS_FROM else 1,
        "stepSeconds": f"{step_seconds(workers, batch, passes):.6f}",
        "rate": f"{samples_each * goodput(workers, batch, passes):.6f}",
        "seconds": 600,
    }


SEEN = (
    measured(1, 128),
    measured(1, 256, 2),
    measured(2, 128),
    measured(4, 640),
    measured(4, 1024, 2),
    measured(16, 4096),
)


def read(job: Manifest) -> TrainingJob:
    return TrainingJob.model_validate(job)


def best_goodput(workers: int) -> float:
    return max(
        goodput(workers, local * passes * workers, passes)
        for local in range(1, 257)
        for passes in range(1, 5)
        if SMALLEST <= local * passes * workers <= 4096
    )


@pytest.mark.parametrize("workers", [2, 4, 8, 12, 16])
def test_sizes_that_were_never_tried_are_predicted(workers: int) -> None:
    expected = expected_rates(read(a_job(*SEEN)), [workers])[H100, workers]
    assert expected == pytest.approx(best_goodput(workers), rel=0.1)


def test_without_measured_steps_a_single_rate_says_nothing_of_how_a_job_scales() -> None:
    without = [{**each, "stepSeconds": None} for each in SEEN]
    error, blind = (
        abs(expected_rates(read(job), [12])[H100, 12] / best_goodput(12) - 1)
        for job in (a_job(*SEEN), a_job(*without))
    )
    assert error < 0.1 < blind


@pytest.mark.parametrize("workers", [2, 8, 24])
def test_its_batch_is_the_best_there(workers: int) -> None:
    batch = chosen_batch(read(a_job(*SEEN)), H100, workers)
    assert batch is not None
    assert goodput(workers, batch.size, batch.accumulation) > 0.95 * best_goodput(workers)


def test_on_other_types_a_job_scales_alike_at_the_stated_ratio() -> None:
    rates = expected_rates(read(a_job(*SEEN)), [1, 4, 8])
    for workers in (1, 4, 8):
        assert rates[A100, workers] == pytest.approx(rates[H100, workers] / 2, rel=0.1)


def test_the_unit_of_work_need_not_be_samples() -> None:
    """A sample has a thousand tokens here, which the spec does not say."""
    tokens = [measured(n, 128 * n, samples_each=1000.0) for n in (1, 2, 4, 8)]
    expected = expected_rates(read(a_job(*tokens, work="tokens")), [12])[H100, 12]
    assert expected == pytest.approx(1000 * best_goodput(12), rel=0.25)


def test_nothing_is_promised_where_no_measurement_tells_computing_from_waiting() -> None:
    """Of all steps of several workers, any share could be waiting; one worker would then fly."""
    few = {**measured(2, 20), "stepSeconds": "0.5", "rate": "40"}
    many = {**measured(4, 640, 2), "stepSeconds": "0.736", "rate": "41"}
    job = a_job(few, many)
    job["spec"]["batch"]["size"] = 20
    job["status"]["progress"]["gradientNoise"] = "10.68"
    for accelerator in job["spec"]["accelerators"]:
        accelerator |= {"maxLocalBatch": 80, "throughput": [{"workers": 1, "rate": 42}]}
    rates = expected_rates(read(job), [1, 2, 4])
    assert rates[H100, 1] < 2 * 42


def test_a_stated_curve_goes_before_the_model() -> None:
    """Who states several rates for a type knows how the job scales there."""
    job = a_job(measured(1, 128))
    linear = [{"workers": 1, "rate": 1}, {"workers": 32, "rate": 32}]
    for accelerator in job["spec"]["accelerators"]:
        accelerator["throughput"] = linear
    rates = expected_rates(read(job), [1, 32])
    assert rates[H100, 32] > 25 * rates[H100, 1]


def test_what_was_measured_long_ago_counts_with_the_noise_of_today() -> None:
    """Gradients were clear then, so that its rate with a large batch was low."""
    old = {**measured(8, 4096), "rate": "1"}
    expected = expected_rates(read(a_job(*SEEN[:4], old)), [8])[H100, 8]
    assert expected == pytest.approx(best_goodput(8), rel=0.1)


@given(st.data())
def test_nothing_that_workers_report_makes_a_rate_impossible(data: st.DataObject) -> None:
    work = data.draw(st.sampled_from(["samples", "tokens"]))
    amounts = st.sampled_from(["0.000000001", "0.001", "1", "1e6", "1e15", "1e18"])
    hostile = [
        {
            "type": data.draw(st.sampled_from([H100, A100, "other"])),
            "workers": data.draw(st.sampled_from([1, 2, 31, 4096])),
            "batch": data.draw(st.sampled_from([None, 1, 128, 4096, 2**30])),
            "accumulation": data.draw(st.sampled_from([None, 1, 4, 2**30])),
            "nodes": data.draw(st.sampled_from([None, 0, 1, 100_000])),
            "stepSeconds": data.draw(st.none() | st.just("0") | amounts),
            "rate": data.draw(st.just("0") | amounts),
            "seconds": data.draw(st.sampled_from([0, 1, 2**31 - 1])),
        }
        for _ in range(data.draw(st.integers(0, 6)))
    ]
    job = a_job(*hostile, work=work)
    job["status"]["progress"]["gradientNoise"] = data.draw(amounts)
    rates = expected_rates(read(job), range(1, 33))
    assert all(0 < rate < np.inf for rate in rates.values())
    better_live_batch(read(job))


def test_a_rate_that_was_rounded_to_nothing_says_nothing_of_units() -> None:
    none = {**measured(2, 128), "rate": "0"}
    rates = expected_rates(read(a_job(none, work="tokens")), [1, 2])
    assert all(0 < rate < np.inf for rate in rates.values())


def test_an_assumed_rate_is_not_taken_for_a_step() -> None:
    steps = measured(4, 128), measured(8, 128), measured(8, 256)
    (view,) = seen(fake_node("node"), without_speeds(a_job(*steps))).jobs
    assert view.training is not None
    assert expected_rates(view.training, [1])[H100, 1] > goodput(1, SMALLEST)


@pytest.mark.parametrize("workers", [4, 12, 16])
def test_jobs_of_the_same_program_tell_it_how_it_scales(workers: int) -> None:
    """It has run with one worker; they have run with several."""
    mine, theirs = (without_speeds(a_job(*of)) for of in (SEEN[:1], SEEN))
    others = (_named(theirs, name) for name in ("one", "two"))
    nodes = (fake_node("h100", H100, 8), fake_node("a100", A100, 8))
    alone, together = (
        abs(_expected(workers, mine, *nodes, *beside) / best_goodput(workers) - 1)
        for beside in ((), others)
    )
    assert together < 0.15
    assert together < alone


def _named(job: Manifest, name: str) -> Manifest:
    return {**job, "metadata": {**job["metadata"], "name": name}}


def _expected(workers: int, job: Manifest, *others: Manifest) -> float:
    views = seen(*others, _named(job, "mine")).jobs
    training = next(each.training for each in views if each.resource.metadata.name == "mine")
    assert training is not None
    return expected_rates(training, [workers])[H100, workers]
