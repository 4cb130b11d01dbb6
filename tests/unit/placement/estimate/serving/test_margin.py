from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_placement.estimate.serving.margin import LEAST, MOST, Lateness, margin_after

MINUTE = 60.0
ALLOWED = 0.01
SHARE = st.floats(0, 1)


def late_in_the_long_run(late: Callable[[float], float], allowed: float) -> float:
    """The share of requests that was late over a day, of which the first half is not counted.

    `late`: what share is late in a minute at the load that a margin allows.
    """
    margin, seen = 1.0, list[float]()
    for _ in range(24 * 60):
        seen.append(late(margin))
        margin = margin_after(margin, Lateness(seen[-1], allowed), 1.0, MINUTE)
    counted = seen[len(seen) // 2 :]
    return sum(counted) / len(counted)


@pytest.mark.parametrize("edge", [0.4, 0.8, 1.1])
@pytest.mark.parametrize("allowed", [0.01, 0.05])
def test_as_many_are_late_as_may_be_wherever_lateness_begins(edge: float, allowed: float) -> None:
    def late(margin: float) -> float:
        return 0.1 if margin > edge else 0.0

    assert late_in_the_long_run(late, allowed) == pytest.approx(allowed, rel=0.1)


def test_a_load_beyond_what_is_believed_says_nothing_of_it() -> None:
    assert margin_after(0.8, Lateness(0.5, ALLOWED), 1.01, MINUTE) == 0.8
    assert margin_after(0.8, Lateness(0.5, ALLOWED), 1.0, MINUTE) < 0.8


def test_requests_in_time_at_little_load_are_no_evidence_of_more() -> None:
    assert margin_after(0.8, Lateness(0.0, ALLOWED), 0.5, MINUTE) == 0.8
    assert margin_after(0.8, Lateness(0.0, ALLOWED), 0.9, MINUTE) > 0.8
    assert margin_after(0.8, Lateness(0.2, ALLOWED), 0.5, MINUTE) < 0.8


def test_a_look_counts_by_its_requests_and_one_bad_minute_is_soon_made_up() -> None:
    busy, calm = (margin_after(1.0, Lateness(0.2, ALLOWED), load, MINUTE) for load in (1.0, 0.1))
    assert busy < calm < 1
    worst = margin_after(1.0, Lateness(1.0, ALLOWED), 1.0, MINUTE)
    assert worst == pytest.approx(0.865, abs=0.001)


@given(st.floats(LEAST, MOST), SHARE, SHARE, st.floats(0, 10), st.floats(0, 3600))
def test_it_stays_within_its_bounds(
    margin: float, share: float, allowed: float, load: float, seconds: float
) -> None:
    assert LEAST <= margin_after(margin, Lateness(share, allowed), load, seconds) <= MOST
