from itertools import pairwise

import pytest

from plimsoll_placement.estimate.spot.belief import FACTORS, Belief
from plimsoll_placement.estimate.spot.lifetimes import (
    BUCKETS,
    DOWN,
    FIRST_AGES,
    STEP_SECONDS,
    UP,
    UP_PRIOR,
    bucket_at,
    expected_ends,
    hazards,
)


def after(*spans: tuple[bool, int]) -> Belief:
    """What is known after these runs, each with its steps."""
    steps = [up for up, count in spans for _ in range(count)]
    belief = Belief(steps[0])
    for up in steps[1:]:
        belief = belief.later(STEP_SECONDS, spot_is_up=up)
    return belief


def expected_factor(belief: Belief) -> float:
    """The mean factor on how soon runs up end."""
    return sum(w * each for w, each in zip(belief.weights().tolist(), FACTORS, strict=True))


def test_each_age_is_in_the_last_bucket_that_begins_by_then() -> None:
    for age in range(1, 200):
        bucket = bucket_at((age - 1) * STEP_SECONDS)
        assert FIRST_AGES[bucket] <= age
        assert bucket == BUCKETS - 1 or age < FIRST_AGES[bucket + 1]


def test_what_has_lasted_long_goes_on_to_last() -> None:
    for side in (DOWN, UP):
        by_age = hazards(FACTORS)[:, side]
        assert all((now >= later).all() for now, later in pairwise(by_age.T))


@pytest.mark.parametrize(("since", "until"), [(0, 1), (0, 7), (3, 90), (70, 71), (64, 300)])
def test_expected_ends_are_the_sum_of_the_hazards_of_each_step(since: int, until: int) -> None:
    by_bucket = UP_PRIOR.by_bucket()
    summed = sum(by_bucket[bucket_at(step * STEP_SECONDS)] for step in range(since, until))
    found = expected_ends(since * STEP_SECONDS, until * STEP_SECONDS)
    assert found == pytest.approx(summed)


def test_it_is_all_the_same_how_often_one_looks() -> None:
    often = Belief(spot_is_up=True)
    for _ in range(90):
        often = often.later(100, spot_is_up=True)
    once = Belief(spot_is_up=True).later(9000, spot_is_up=True)
    assert (often.seconds, often.bucket) == (once.seconds, once.bucket)
    assert often.expected == pytest.approx(once.expected, rel=0.1)


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
    assert restless.later(2000 * STEP_SECONDS, spot_is_up=False).ended < 1e-6 < restless.ended


def test_a_run_grows_older_until_it_ends() -> None:
    belief = after((False, 4), (True, 3))
    assert (belief.side, belief.seconds) == (UP, 2 * STEP_SECONDS)
