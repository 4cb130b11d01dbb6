import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.kube.http.pace import Pace


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_seconds_worth_goes_at_once_and_the_rest_evenly() -> None:
    pace = Pace(10, Clock())
    waits = [pace.wait_seconds() for _ in range(13)]
    assert all(wait <= 1e-9 for wait in waits[:10])
    assert waits[10:] == pytest.approx([0.1, 0.2, 0.3])


def test_who_was_silent_may_send_a_seconds_worth_and_no_more() -> None:
    clock = Clock()
    pace = Pace(10, clock)
    for _ in range(30):
        pace.wait_seconds()
    clock.now += 3600
    waits = [pace.wait_seconds() for _ in range(11)]
    assert sum(wait <= 1e-9 for wait in waits) == 10


def test_without_a_limit_nobody_waits() -> None:
    pace = Pace(0, Clock())
    assert all(pace.wait_seconds() <= 0 for _ in range(1000))


@given(
    st.floats(0.5, 500),
    st.lists(st.floats(0, 3), min_size=1, max_size=200),
)
def test_in_no_time_more_is_sent_than_the_rate_and_a_seconds_worth(
    rate: float, pauses: list[float]
) -> None:
    clock = Clock()
    pace = Pace(rate, clock)
    sent: list[float] = []
    for pause in pauses:
        clock.now += pause
        sent.append(clock.now + max(0.0, pace.wait_seconds()))
    for first, begin in enumerate(sent):
        for last in range(first, len(sent)):
            assert last - first + 1 <= rate * (sent[last] - begin + 1) + 1.001
