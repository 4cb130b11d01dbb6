"""Which batch a job takes."""

from dataclasses import replace

import numpy as np
import pytest

from plimsoll_placement.estimate.throughput.best_batch import (
    BatchLimits,
    Division,
    best_batches,
    goodput,
    least_division,
)
from plimsoll_placement.estimate.throughput.noise import GradientNoise
from plimsoll_placement.estimate.throughput.scaling import Scaling

LIMITS = BatchLimits(smallest=32, largest=4096, local_least=8, local_most=128)
SLOW_NETWORK = Scaling(0.01, 0.001, 0.5, 0.0, 0.5, 0.0)
NOISY, CLEAR = GradientNoise(1.0, 1e6), GradientNoise(1.0, 1e-6)
ONE, EIGHT = np.array([1.0]), np.array([8.0])


def test_noisy_gradients_are_worth_a_larger_batch_than_clear_ones() -> None:
    noisy = best_batches(SLOW_NETWORK, NOISY, LIMITS, nodes=ONE, replicas=EIGHT)
    clear = best_batches(SLOW_NETWORK, CLEAR, LIMITS, nodes=ONE, replicas=EIGHT)
    assert noisy.local_batch[0] * noisy.passes[0] > clear.local_batch[0] * clear.passes[0]


def test_what_does_not_fit_into_memory_is_accumulated_over_several_passes() -> None:
    found = best_batches(SLOW_NETWORK, NOISY, LIMITS, nodes=ONE, replicas=EIGHT)
    assert found.passes[0] > 1
    assert found.local_batch[0] <= LIMITS.local_most


@pytest.mark.parametrize("replicas", [1.0, 2.0, 16.0, 64.0])
def test_no_batch_is_larger_than_the_job_allows(replicas: float) -> None:
    many = np.array([replicas])
    found = best_batches(SLOW_NETWORK, NOISY, LIMITS, nodes=ONE, replicas=many)
    whole = found.local_batch[0] * found.passes[0] * replicas
    # Rounded up to whole samples on each replica in each pass.
    assert whole <= LIMITS.largest + replicas * found.passes[0]


def test_with_gradients_without_noise_more_replicas_bring_no_progress() -> None:
    sizes = np.array([1.0, 4.0])
    free_network = Scaling(0.01, 0.001, 1e-8, 0.0, 1e-8, 0.0)
    found = best_batches(free_network, CLEAR, LIMITS, nodes=np.ones(2), replicas=sizes)
    ideal = (0.01 + 0.032) / (0.01 + 0.008)
    assert found.rate[1] / found.rate[0] == pytest.approx(ideal, rel=0.02)


def test_no_batch_needs_more_passes_than_are_allowed() -> None:
    few = replace(LIMITS, passes_most=2)
    found = best_batches(SLOW_NETWORK, NOISY, few, nodes=ONE, replicas=EIGHT)
    more = best_batches(SLOW_NETWORK, NOISY, LIMITS, nodes=ONE, replicas=EIGHT)
    assert found.passes[0] <= 2 < more.passes[0]
    assert 0 < found.rate[0] < more.rate[0]


def test_the_goodput_of_the_best_batch_is_what_it_is_said_to_be() -> None:
    found = best_batches(SLOW_NETWORK, NOISY, LIMITS, nodes=ONE, replicas=EIGHT)
    again = goodput(
        SLOW_NETWORK,
        NOISY,
        LIMITS.smallest,
        nodes=ONE,
        replicas=EIGHT,
        split=found.local_batch.astype(float),
        passes=found.passes.astype(float),
    )
    assert again[0] == pytest.approx(found.rate[0])


def test_a_batch_that_must_be_just_so_is_divided_evenly_or_not_at_all() -> None:
    only = BatchLimits(smallest=96, largest=96, local_least=1, local_most=16, passes_most=4)
    assert least_division(only, 2) == Division(2, 16, 3)
    assert least_division(only, 6) == Division(6, 16, 1)
    assert least_division(only, 7) is None
    assert least_division(only, 1) is None, "six passes of 16 were needed"
