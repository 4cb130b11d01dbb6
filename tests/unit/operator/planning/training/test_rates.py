from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.api.parts.gang import Accelerator
from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.training.rates import expected_rates, rates_at, training_yields
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from support.clusters.seen import seen
from support.objects.job_manifests import a_training_job, without_speeds

CURVE = {2: 4, 4: 7, 8: 9}


@pytest.mark.parametrize(
    ("workers", "rate"),
    [
        (1, 2),  # below the first point: in proportion
        (2, 4),
        (3, 5.5),  # half-way between two points
        (4, 7),
        (6, 8),
        (8, 9),
        (12, 11),  # beyond the last: along the last line
    ],
)
def test_what_lies_between_measured_points_is_on_a_line(workers: int, rate: float) -> None:
    assert rates_at(CURVE, [workers]) == rate


def test_one_point_stands_for_proportion() -> None:
    assert rates_at({4: 6}, [1, 2, 4, 8]).tolist() == [1.5, 3, 6, 12]


def test_a_falling_curve_does_not_fall_further_beyond_its_end() -> None:
    falling = {4: 8, 8: 6}
    assert rates_at(falling, [8, 12, 100]).tolist() == [6, 6, 6]


def test_a_steep_end_promises_no_more_than_proportion() -> None:
    steep = {4: 1, 5: 10}
    assert rates_at(steep, [10]) == 20


counts = st.integers(1, 64)
curves = st.dictionaries(counts, st.floats(1, 100), min_size=1, max_size=6)


@given(curves, counts)
def test_a_rate_is_positive_and_measured_points_hold(
    points: dict[int, float], workers: int
) -> None:
    assert rates_at(points, [workers]) > 0
    assert rates_at(points, list(points)) == pytest.approx(list(points.values()))


@given(curves, counts)
def test_a_rate_between_two_points_is_between_theirs(
    points: dict[int, float], workers: int
) -> None:
    if min(points) <= workers <= max(points):
        below = points[max(count for count in points if count <= workers)]
        above = points[min(count for count in points if count >= workers)]
        (rate,) = rates_at(points, [workers])
        assert min(below, above) - 1e-9 <= rate <= max(below, above) + 1e-9


def yields(rates: dict[str, dict[int, int]], counts: Sequence[int]) -> dict[str, tuple[int, ...]]:
    job = a_training_job("job", workers=(min(counts), max(counts)), gpus=2, rates=rates)
    return training_yields(TrainingJob.model_validate(job), counts)


def test_a_useful_gpu_is_one_of_the_type_and_count_that_suit_best() -> None:
    assert yields({H100: {1: 10, 2: 18}, A100: {1: 5}}, (1, 2)) == {
        H100: (2000, 3600),
        A100: (1000, 2000),
    }


@given(st.integers(1, 1000))
def test_the_unit_in_which_work_is_counted_does_not_matter(unit: int) -> None:
    plain = {H100: {1: 10, 4: 30}, A100: {1: 7, 4: 12}}
    scaled = {
        kind: {count: rate * unit for count, rate in points.items()}
        for kind, points in plain.items()
    }
    assert yields(scaled, (1, 2, 4)) == yields(plain, (1, 2, 4))


def measured(*points: tuple[str, int, float]) -> TrainingJob:
    """A job of stated rates in proportion, of which these were measured for an hour."""
    measured = [
        {"type": kind, "workers": workers, "rate": str(rate), "seconds": 3600}
        for kind, workers, rate in points
    ]
    stated = {H100: {1: 10, 2: 20, 4: 40, 8: 80}, A100: {1: 5, 2: 10, 4: 20, 8: 40}}
    job = a_training_job("job", workers=(1, 8), rates=stated)
    return TrainingJob.model_validate({**job, "status": {"measured": measured}})


def rates(job: TrainingJob, *sizes: tuple[str, int]) -> list[float]:
    found = expected_rates(job, {workers for _, workers in sizes})
    return [float(found[size]) for size in sizes]


def test_what_was_measured_for_long_is_expected_again() -> None:
    (rate,) = rates(measured((H100, 4, 20.0)), (H100, 4))
    assert rate == pytest.approx(20, rel=0.05)


def test_what_was_never_tried_is_judged_by_what_was() -> None:
    """Half of what was stated on one type: less than stated is expected everywhere, most there."""
    job = measured((H100, 4, 20.0))
    (same_type, other_type) = rates(job, (H100, 8), (A100, 4))
    assert same_type / 80 < other_type / 20 < 0.8


def test_a_job_that_scales_worse_than_stated_is_expected_to_go_on_so() -> None:
    job = measured((H100, 1, 10.0), (H100, 4, 20.0))
    assert rates(job, (H100, 8))[0] < 80 * 0.6


def test_measurements_of_a_size_or_type_that_is_no_longer_asked_for_do_no_harm() -> None:
    job = measured(("gone", 4, 1.0), (H100, 64, 640.0))
    assert rates(job, (H100, 4), (A100, 2)) == pytest.approx([40, 10], rel=0.03)


def test_reports_that_differ_little_are_no_reason_to_plan_anew() -> None:
    assert training_yields(measured((H100, 4, 20.0)), (1, 4)) == training_yields(
        measured((H100, 4, 20.05)), (1, 4)
    )


def test_measurements_that_contradict_each_other_wildly_leave_rates_that_are_numbers() -> None:
    job = measured((H100, 4, 1e-9), (H100, 5, 1e15), (A100, 4, 1e15), (A100, 5, 1e-9))
    assert all(rate > 0 for rate in rates(job, (H100, 4), (H100, 8), (A100, 8)))
    assert all(0 <= each <= 8000 for of in training_yields(job, (4, 8)).values() for each in of)


def test_a_measurement_moves_an_assumed_rate_further_than_a_stated_one() -> None:
    seen_for = {H100: 36_000, A100: 60}
    measured = [
        {"type": kind, "workers": 1, "rate": "10", "seconds": seconds}
        for kind, seconds in seen_for.items()
    ]
    nodes = (fake_node("h100", H100), fake_node("a100", A100))
    silent = without_speeds(a_training_job("job")) | {"status": {"measured": measured}}
    (view,) = seen(*nodes, silent).jobs
    assert view.training is not None
    points = {a.type: a.throughput for a in view.training.spec.accelerators}
    stated = tuple(Accelerator(type=kind, throughput=of) for kind, of in points.items())
    spec = view.training.spec.model_copy(update={"accelerators": stated})
    says_the_same = view.training.model_copy(update={"spec": spec})
    assumed, said = (expected_rates(job, [1]) for job in (view.training, says_the_same))
    assert said[A100, 1] < assumed[A100, 1] < 10.5
