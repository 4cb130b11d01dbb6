"""What measured rates make of a stated curve."""

import pytest

from plimsoll_placement.estimate.throughput.curves import MeasuredRate, corrected_rates, doubts

STATED = {("A", 1): 100.0, ("A", 2): 190.0, ("A", 8): 700.0, ("B", 1): 40.0, ("B", 8): 300.0}
LONG, SHORT = 36_000.0, 5.0


def test_a_curve_stands_where_nothing_was_measured() -> None:
    assert corrected_rates(STATED, []) == STATED


def test_a_size_that_was_measured_for_long_has_the_measured_rate() -> None:
    found = corrected_rates(STATED, [MeasuredRate("A", 8, 350.0, LONG)])
    assert found["A", 8] == pytest.approx(350.0, rel=0.01)


def test_a_short_measurement_counts_less_than_a_long_one() -> None:
    short = corrected_rates(STATED, [MeasuredRate("A", 8, 350.0, SHORT)])["A", 8]
    long = corrected_rates(STATED, [MeasuredRate("A", 8, 350.0, LONG)])["A", 8]
    assert long < short < STATED["A", 8]


def test_a_slower_job_is_slower_on_types_that_were_not_tried_though_less_surely() -> None:
    found = corrected_rates(STATED, [MeasuredRate("A", 1, 50.0, LONG)])
    assert 0.5 < found["B", 1] / STATED["B", 1] < 0.7
    assert found["A", 2] / STATED["A", 2] < found["B", 1] / STATED["B", 1]


def test_worse_scaling_than_stated_carries_over_to_other_types() -> None:
    seen = [MeasuredRate("A", 1, 100.0, LONG), MeasuredRate("A", 8, 400.0, LONG)]
    found = corrected_rates(STATED, seen)
    stated = STATED["B", 8] / STATED["B", 1]
    assert found["B", 8] / found["B", 1] < 0.9 * stated


def test_of_two_measurements_the_longer_counts_more() -> None:
    seen = [MeasuredRate("A", 1, 50.0, 3600.0), MeasuredRate("A", 1, 100.0, 60.0)]
    assert corrected_rates(STATED, seen)["A", 1] < 60.0


def test_a_measurement_at_a_size_that_nobody_stated_is_left_out() -> None:
    assert corrected_rates(STATED, [MeasuredRate("C", 1, 1.0, LONG)]) == STATED


def test_least_is_doubted_where_it_was_measured_and_most_on_another_type() -> None:
    found = doubts(STATED, [MeasuredRate("A", 8, 700.0, LONG)])
    assert found["A", 8] < 0.01
    assert found["A", 8] < found["A", 2] < found["B", 8]
    assert 0.2 < found["B", 8] < 0.4


def test_doubt_falls_as_a_measurement_goes_on() -> None:
    short, long = (
        doubts(STATED, [MeasuredRate("A", 8, 700.0, seconds)])["A", 8] for seconds in (SHORT, LONG)
    )
    assert long < short


def test_before_anything_is_measured_all_is_in_doubt() -> None:
    assert min(doubts(STATED, []).values()) > 0.5
