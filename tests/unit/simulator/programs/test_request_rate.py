"""Recorded requests: how many come between two times."""

import math

import pytest

from plimsoll_simulator.programs.request_rate import RequestRate, in_steps

RATE = in_steps([2.0, 4.0, 6.0], step_seconds=10, begins=-10)


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


def test_the_last_rate_may_hold_forever() -> None:
    rate = RequestRate([0.0, 10.0, math.inf], [1.0, 3.0])
    assert rate.mean(5, 15) == pytest.approx(2)
    assert rate.mean(1e6, 2e6) == pytest.approx(3)
    assert [*rate.spans(5, 20)] == [(5, 1.0), (10, 3.0)]


@pytest.mark.parametrize(
    ("times", "rates", "why"),
    [
        ([0, 1], [-1.0], "rates must be numbers of 0 or more"),
        ([0, 1], [math.nan], "rates must be numbers of 0 or more"),
        ([0, 1], [math.inf], "rates must be numbers of 0 or more"),
        ([0, 0], [1.0], "times must ascend"),
        ([0], [1.0], "times must be one more than rates"),
    ],
)
def test_what_is_no_rate_is_refused(times: list[float], rates: list[float], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        RequestRate(times, rates)
