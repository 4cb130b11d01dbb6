"""Recorded requests: how many come between two times."""

import math

import pytest

from plimsoll_simulator.programs.request_rate import RequestRate, interpolated

RATE = RequestRate([2.0, 4.0, 6.0], step_seconds=10, begins=-10)


@pytest.mark.parametrize(
    ("begins", "ends", "mean"),
    [(-10, 0, 2), (0, 10, 4), (-5, 5, 3), (-10, 20, 4), (10, 30, 3), (-30, -10, 0), (20, 90, 0)],
)
def test_the_mean_counts_parts_of_steps_and_nothing_outside(
    begins: float, ends: float, mean: float
) -> None:
    assert RATE.mean(begins, ends) == pytest.approx(mean)


@pytest.mark.parametrize(("begins", "ends"), [(-25, 3), (0, 10), (3, 4), (-10, 33), (25, 90)])
def test_spans_cover_the_time_and_all_requests(begins: float, ends: float) -> None:
    spans = [*RATE.spans(begins, ends)]
    assert sum(seconds for seconds, _ in spans) == pytest.approx(ends - begins)
    come = sum(seconds * rate for seconds, rate in spans)
    assert come == pytest.approx(RATE.mean(begins, ends) * (ends - begins))


def test_windows_are_joined_by_straight_lines() -> None:
    found = interpolated([10.0, 20.0, 10.0], window_seconds=600, step_seconds=60, begins=-600)
    assert len(found.rates) == 30
    assert found.rates[0] == 10
    assert found.rates[9:11] == pytest.approx([10 + 10 * 4.5 / 10, 10 + 10 * 5.5 / 10])
    assert max(found.rates) == pytest.approx(19.5)
    assert found.rates == found.rates[::-1]
    assert found.begins == -600


@pytest.mark.parametrize("rates", [[-1.0], [math.nan], [math.inf]])
def test_what_is_no_rate_is_refused(rates: list[float]) -> None:
    with pytest.raises(ValueError, match="rates must be numbers of 0 or more"):
        RequestRate(rates)


def test_steps_take_time() -> None:
    with pytest.raises(ValueError, match="step_seconds must be more than 0"):
        RequestRate([1.0], step_seconds=0)
