import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.signals.load.slo_attainment import histogram, quantile, share_beyond, share_within

HALF = histogram([("0.5", 5.0), ("1", 9.0), ("+Inf", 10.0)])


@pytest.mark.parametrize(
    ("seconds", "share"), [(0.5, 0.5), (0.75, 0.7), (1, 0.9), (2, 0.9), (0, 0), (0.25, 0.25)]
)
def test_the_share_within_an_objective_is_read_between_bounds(seconds: float, share: float) -> None:
    assert HALF
    assert share_within(HALF, seconds) == pytest.approx(share)


@pytest.mark.parametrize(
    ("seconds", "share"), [(0, 0.5), (0.5, 0.5), (0.51, 0.1), (1, 0.1), (2, 0.0)]
)
def test_only_those_in_buckets_wholly_beyond_an_objective_are_surely_late(
    seconds: float, share: float
) -> None:
    assert HALF
    assert share_beyond(HALF, seconds) == pytest.approx(share)


def test_what_is_beyond_the_highest_bound_keeps_no_promise() -> None:
    found = histogram([("1", 0.0), ("+Inf", 3.0)])
    assert found
    assert share_within(found, 3600) == 0
    assert quantile(found, 0.99) == 1


@pytest.mark.parametrize(("share", "seconds"), [(0.5, 0.5), (0.7, 0.75), (0.25, 0.25), (0.99, 1)])
def test_a_quantile_is_read_between_bounds(share: float, seconds: float) -> None:
    assert HALF
    assert quantile(HALF, share) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "buckets",
    [[], [("1", 3.0)], [("+Inf", 0.0)], [("", 1.0), ("many", 2.0)], [("NaN", 1.0)]],
)
def test_without_requests_nothing_is_known(buckets: list[tuple[str, float]]) -> None:
    assert histogram(buckets) is None


def test_bounds_written_differently_are_one() -> None:
    assert histogram([("1", 1.0), ("1.0", 2.0), ("+Inf", 3.0)]) == ((1.0, 3.0), (math.inf, 3.0))


rates = st.floats(0, 1e12)
bounds = st.sampled_from(["-1", "0", "0.1", "1", "2.5", "10", "+Inf"])


@given(st.lists(st.tuples(bounds, rates)), st.floats(0, 100), st.floats(0.01, 0.99))
def test_a_share_is_a_share_and_a_quantile_keeps_it(
    buckets: list[tuple[str, float]], seconds: float, share: float
) -> None:
    found = histogram(buckets)
    if found is None:
        return
    assert 0 <= share_within(found, seconds) <= 1
    within = quantile(found, share)
    assert math.isfinite(within)
    highest = max((bound for bound, _ in found if math.isfinite(bound)), default=0)
    assert within <= max(highest, 0)
