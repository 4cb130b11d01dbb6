from itertools import pairwise

import pytest

from plimsoll_bench.spot.belief import FACTORS, Belief
from plimsoll_bench.spot.runs import BUCKETS, DOWN, FIRST_AGES, UP, bucket_of, hazards


def after(*spans: tuple[bool, int]) -> Belief:
    """What is known after these runs, each with its steps."""
    steps = [up for up, count in spans for _ in range(count)]
    belief = Belief.at_first(spot_is_up=steps[0])
    for up in steps[1:]:
        belief = belief.a_step_later(spot_is_up=up)
    return belief


def expected_factor(belief: Belief) -> float:
    """The mean factor on how soon runs up end."""
    return sum(w * each for w, each in zip(belief.weights().tolist(), FACTORS, strict=True))


def test_each_age_is_in_the_last_bucket_that_begins_by_then() -> None:
    for age in range(1, 200):
        assert FIRST_AGES[bucket_of(age)] <= age
        assert bucket_of(age) == BUCKETS - 1 or age < FIRST_AGES[bucket_of(age) + 1]


def test_what_has_lasted_long_goes_on_to_last() -> None:
    for side in (DOWN, UP):
        by_age = hazards(FACTORS)[:, side]
        assert all((now >= later).all() for now, later in pairwise(by_age.T))


def test_weights_are_chances() -> None:
    weights = after((True, 5), (False, 3), (True, 9)).weights()
    assert weights.sum() == pytest.approx(1)
    assert (weights > 0).all()


def test_short_runs_up_are_learned() -> None:
    calm = after((True, 50), (False, 9), (True, 50))
    restless = after(*[(True, 1), (False, 9)] * 11)
    assert expected_factor(restless) > 1.3
    assert expected_factor(calm) < 0.9


def test_runs_down_say_nothing_of_runs_up() -> None:
    often, seldom = after(*[(False, 1), (True, 30)] * 3), after(*[(False, 3), (True, 30)] * 3)
    assert expected_factor(often) == pytest.approx(expected_factor(seldom), rel=0.05)


def test_what_was_seen_long_ago_fades() -> None:
    restless = after(*[(True, 1), (False, 2)] * 10)
    later = restless
    for _ in range(2000):
        later = later.a_step_later(spot_is_up=False)
    assert later.ended < 1e-6 < restless.ended


def test_a_run_grows_older_until_it_ends() -> None:
    belief = after((False, 4), (True, 3))
    assert (belief.side, belief.age) == (UP, 3)
