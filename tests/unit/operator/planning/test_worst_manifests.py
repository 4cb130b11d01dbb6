"""The largest job that the API server takes is read, translated and planned for in bounded time.

What is measured is the processor's time, so that a busy machine is no reason to fail; the bounds
leave room for slow ones. Before sizes were bounded these took from one to ten seconds.
"""

import gc
import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.training.batch_limits import MOST_SIZES, allowed_counts
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, seen
from support.objects.job_manifests import a_training_job

TYPES = [H100, *(f"GPU-{number:02}" for number in range(15))]
AT_FIRST_SECONDS, LATER_SECONDS = 1.0, 0.4


def worst(*, batch: bool = False, measured: bool = False) -> Manifest:
    """Sixteen types with 32 points each, any of 4,096 sizes, batches, and 64 measurements."""
    points = {128 * step + 1: f"{7 * step + 1}.{step:03}" for step in range(32)}
    deadline = (NOW + timedelta(hours=5)).isoformat()
    job = a_training_job(
        "worst",
        workers=(1, 4096),
        rates=dict.fromkeys(TYPES, points),
        work={"amount": 1_000_000, "unit": "samples", "deadline": deadline},
        spot={"allowed": True},
    )
    if batch:
        job["spec"]["batch"] = {"size": 14_192_640, "maxSize": 2**30, "maxAccumulation": 256}
    if measured:
        common = {"rate": "1.5", "seconds": 600, "batch": 14_192_640 if batch else None}
        rates = [{**common, "type": TYPES[n % 16], "workers": 60 * n + 1} for n in range(64)]
        progress = {"done": 5, "unit": "samples", "rate": 1, "gradientNoise": 5000}
        job["status"] = {"measured": rates, "progress": progress}
    return job


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    started = time.process_time()
    work()
    return time.process_time() - started


@pytest.mark.slow
@pytest.mark.parametrize("measured", [False, True])
@pytest.mark.parametrize("batch", [False, True])
def test_the_largest_gang_costs_a_turn_little(*, batch: bool, measured: bool) -> None:
    snapshot = seen(fake_node("node", gpus=8), worst(batch=batch, measured=measured))
    first = seconds(lambda: plan_input_of(snapshot, ProblemBuilder()))
    assert first < AT_FIRST_SECONDS
    known = ProblemBuilder()
    plan_input_of(snapshot, known)
    assert seconds(lambda: plan_input_of(snapshot, known)) < LATER_SECONDS


@pytest.mark.parametrize(
    "batch",
    [
        {"size": 735_134_400, "maxAccumulation": 256},  # with most divisors of all that are legal
        {"size": 1_000_003, "maxSize": 1_000_004, "maxAccumulation": 256},
        {"size": 2**30 - 1, "maxAccumulation": 256},
    ],
)
def test_no_batch_makes_the_counts_that_divide_it_dear(batch: Manifest) -> None:
    manifest = worst()
    manifest["spec"]["batch"] = batch
    for number, accelerator in enumerate(manifest["spec"]["accelerators"]):
        accelerator["maxLocalBatch"] = 3 + number
    manifest["metadata"] |= {"uid": "u", "namespace": "team"}
    job = TrainingJob.model_validate(manifest)
    assert seconds(lambda: allowed_counts(job)) < AT_FIRST_SECONDS
    assert len(allowed_counts(job)) * len(TYPES) <= MOST_SIZES
