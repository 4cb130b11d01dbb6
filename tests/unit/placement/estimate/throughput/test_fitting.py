"""What the model makes of measured steps."""

import numpy as np
import pytest

from plimsoll_placement.estimate.throughput.fitting import fitted
from plimsoll_placement.estimate.throughput.samples import Sample
from plimsoll_placement.estimate.throughput.scaling import Scaling

TRUE = Scaling(0.05, 0.002, 0.02, 0.001, 0.2, 0.004, 1.5)
SIZES = ((1, 1), (1, 2), (1, 4), (1, 8), (2, 16), (3, 24))


def a_sample(model: Scaling, nodes: int, replicas: int, local_batch: int) -> Sample:
    at = np.array([float(nodes)]), np.array([float(replicas)]), np.array([float(local_batch)])
    step = float(model.step_seconds(*at)[0])
    compute = float(np.asarray(model.compute_seconds(at[2]))[0])
    return Sample(nodes, replicas, local_batch, step, step - compute)


def predicted(model: Scaling, nodes: int, replicas: int, local_batch: int) -> float:
    return a_sample(model, nodes, replicas, local_batch).step_seconds


def test_steps_that_follow_the_model_are_predicted_where_they_were_not_measured() -> None:
    samples = [a_sample(TRUE, n, r, b) for n, r in SIZES for b in (16, 64, 256)]
    model = fitted(samples)
    for nodes, replicas, batch in ((1, 6, 32), (2, 12, 128), (4, 32, 64)):
        assert predicted(model, nodes, replicas, batch) == pytest.approx(
            predicted(TRUE, nodes, replicas, batch), rel=0.05
        )


def test_one_sample_is_reproduced() -> None:
    model = fitted([a_sample(TRUE, 1, 1, 64)])
    assert predicted(model, 1, 1, 64) == pytest.approx(predicted(TRUE, 1, 1, 64), rel=0.01)


def test_before_it_ran_with_several_replicas_synchronising_is_taken_to_be_free() -> None:
    model = fitted([a_sample(TRUE, 1, 1, b) for b in (16, 64, 256)])
    alone, many = predicted(model, 1, 1, 64), predicted(model, 2, 16, 64)
    assert many == pytest.approx(alone, rel=0.01)


def test_waiting_across_nodes_is_taken_to_cost_more_than_within_before_it_was_measured() -> None:
    model = fitted([a_sample(TRUE, 1, r, b) for r in (1, 2, 4, 8) for b in (16, 64, 256)])
    assert predicted(model, 2, 8, 16) > predicted(model, 1, 8, 16)


def test_the_order_of_samples_does_not_matter() -> None:
    samples = [a_sample(TRUE, n, r, b) for n, r in SIZES for b in (16, 64)]
    assert fitted(samples) == fitted(reversed(samples))


def test_whole_steps_are_enough_where_sizes_and_batches_differ() -> None:
    """How long replicas wait for each other need not be known."""
    samples = [Sample(n, r, b, predicted(TRUE, n, r, b)) for n, r in SIZES for b in (16, 64, 256)]
    model = fitted(samples)
    for nodes, replicas, batch in ((1, 6, 32), (2, 12, 128), (4, 32, 64)):
        assert predicted(model, nodes, replicas, batch) == pytest.approx(
            predicted(TRUE, nodes, replicas, batch), rel=0.05
        )


def test_several_passes_wait_once() -> None:
    """Their compute time is all that the second one adds."""
    compute = TRUE.compute_seconds(np.array([64.0]))
    samples = [
        Sample(1, 8, 64, predicted(TRUE, 1, 8, 64) + (passes - 1) * float(compute[0]), None, passes)
        for passes in (1, 2, 4)
    ]
    model = fitted(samples)
    assert float(model.compute_seconds(np.array([64.0]))[0]) == pytest.approx(
        float(compute[0]), rel=0.1
    )


def test_what_could_be_all_waiting_is_not_taken_for_it() -> None:
    """Of these steps any share could be computing, and one replica alone would show how much."""
    model = fitted([Sample(1, 2, 10, 0.5), Sample(1, 4, 80, 0.45, None, 2)])
    assert predicted(model, 1, 1, 20) > 0.001
