import pytest

from plimsoll.signals.load.offered import Flow, offered, offered_tokens


def test_a_steady_service_is_offered_what_it_serves() -> None:
    assert offered(Flow(served=5, completed=5), 60) == 5


def test_a_growing_queue_is_load_that_is_not_served_yet() -> None:
    assert offered(Flow(served=5, completed=5, growth=2), 60) == 7


def test_those_that_wait_are_to_be_served_in_time() -> None:
    assert offered(Flow(served=5, completed=5, waiting=120), 60) == 7


def test_a_queue_that_shrinks_is_not_offered_again() -> None:
    assert offered(Flow(served=9, completed=9, growth=-4), 60) == 5
    assert offered(Flow(served=1, completed=1, growth=-4), 60) == 0


def test_each_waiting_request_counts_as_many_tokens_as_others_had() -> None:
    flow = Flow(served=1000, completed=2, growth=1, waiting=60)
    assert offered_tokens(flow, 60) == 1000 + 500 + 500


def test_without_an_answered_request_tokens_of_those_that_wait_are_not_known() -> None:
    assert offered_tokens(Flow(served=0, completed=0, waiting=1), 60) is None
    assert offered_tokens(Flow(served=3, completed=0), 60) == 3


@pytest.mark.parametrize("capacity", [10.0, 100.0])
def test_a_full_service_asks_for_more_than_it_serves_until_the_queue_is_gone(
    capacity: float,
) -> None:
    """Played: 1.5 times what it carries comes, and what is asked for comes a minute later."""
    come, waiting, lead, served = 1.5 * capacity, 0.0, 60, capacity
    asked = [capacity] * lead
    for _ in range(1200):
        served = min(max(capacity, asked[-lead]), come + waiting)
        grown = come - served
        waiting = max(0.0, waiting + grown)
        asked.append(offered(Flow(served, served, grown, waiting), lead))
    assert waiting < 1
    assert served == pytest.approx(come, rel=0.02)
    assert max(asked) < 3 * come
