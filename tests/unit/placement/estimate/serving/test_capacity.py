import math
import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_placement.estimate.serving.capacity import (
    BELIEF_SECONDS,
    MOST_CHANGE,
    STRETCH,
    Measurement,
    capacity,
)

HOUR = 60
A_STEP = 0.045
"""The grid's."""


def at(utilisation: float, latency: float, seconds: float) -> Measurement:
    return Measurement(utilisation, latency, latency, seconds)


def learned(measurements: list[Measurement]) -> float:
    return capacity(measurements, belief_seconds=BELIEF_SECONDS)


def a_service(most: float, alone: float, minutes: int) -> Iterator[Measurement]:
    """A queue that takes `alone` of the promised time when idle, and grows without end at `most`.

    Its load goes up and down between a fifth and all of what it carries within the objective.
    """
    rng = random.Random(minutes)
    for _ in range(minutes):
        utilisation = rng.uniform(0.2, 1.0) * most * (1 - alone)
        noise = rng.lognormvariate(0, 0.1)
        yield at(utilisation, alone / (1 - utilisation / most) * noise, 60)


def test_what_is_believed_stays_where_nothing_is_measured() -> None:
    assert learned([]) == 1.0


@pytest.mark.parametrize(("most", "alone"), [(1.25, 0.2), (0.7, 0.2), (2.0, 0.3), (1.25, 0.6)])
def test_what_is_carried_is_learned_in_hours(most: float, alone: float) -> None:
    truth = most * (1 - alone)
    found = learned(list(a_service(most, alone, 5 * HOUR)))
    assert found == pytest.approx(truth, rel=0.15)


@pytest.mark.parametrize(("most", "alone"), [(0.7, 0.2), (2.0, 0.3)])
def test_the_longer_it_is_measured_the_more_is_believed(most: float, alone: float) -> None:
    truth = most * (1 - alone)
    found = [learned(list(a_service(most, alone, m))) for m in (2, 20, 300)]
    errors = [max(abs(each / truth - 1), A_STEP) for each in found]
    assert errors == sorted(errors, reverse=True)


def test_slow_requests_mean_that_less_is_carried() -> None:
    assert learned([at(1.0, 3.0, 30)] * 20) < 0.95


def test_quick_requests_at_little_load_promise_nothing() -> None:
    assert learned([at(0.3, 0.05, 30)] * 1000) == 1.0


@given(
    st.lists(
        st.builds(
            Measurement,
            st.floats(0, 1e6),
            st.floats(0, 1e6),
            st.floats(0, math.inf),
            st.floats(0, 1e6),
        ),
        max_size=30,
    ),
    st.floats(1, 1e6),
)
def test_belief_changes_within_bounds_and_never_far_beyond_what_was_seen(
    measurements: list[Measurement], belief_seconds: float
) -> None:
    found = capacity(measurements, belief_seconds=belief_seconds)
    seen = [m.utilisation for m in measurements if m.high <= 1]
    assert 1 / MOST_CHANGE <= found <= MOST_CHANGE
    assert found <= max(1.0, STRETCH * max(seen, default=0.0))
