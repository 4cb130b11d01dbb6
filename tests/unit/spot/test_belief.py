from itertools import pairwise

import pytest

from plimsoll_placement.spot.belief import MODELS, Belief
from plimsoll_placement.spot.runs import BUCKETS, DOWN, FIRST_AGES, UP, bucket_of, hazards


def after(*spans: tuple[bool, int]) -> Belief:
    """What is known after these runs, each with its steps."""
    steps = [up for up, count in spans for _ in range(count)]
    belief = Belief.at_first(spot_is_up=steps[0])
    for up in steps[1:]:
        belief = belief.a_step_later(spot_is_up=up)
    return belief


def expected_factor(belief: Belief, side: int) -> float:
    """The mean factor on how soon runs of a side end."""
    weights = belief.weights().tolist()
    return sum(w * model[side] for w, model in zip(weights, MODELS, strict=True))


def test_each_age_is_in_the_last_bucket_that_begins_by_then() -> None:
    for age in range(1, 200):
        assert FIRST_AGES[bucket_of(age)] <= age
        assert bucket_of(age) == BUCKETS - 1 or age < FIRST_AGES[bucket_of(age) + 1]


def test_what_has_lasted_long_goes_on_to_last() -> None:
    for side in (DOWN, UP):
        by_age = hazards(MODELS)[:, side]
        assert all((now >= later).all() for now, later in pairwise(by_age.T))


def test_weights_are_chances() -> None:
    weights = after((True, 5), (False, 3), (True, 9)).weights()
    assert weights.sum() == pytest.approx(1)
    assert (weights > 0).all()


def test_short_runs_up_are_learned_and_say_nothing_of_runs_down() -> None:
    calm = after((True, 50), (False, 9), (True, 50))
    restless = after(*[(True, 1), (False, 9)] * 11)
    assert expected_factor(restless, UP) > 1 > expected_factor(calm, UP)
    alike = after((True, 1), (False, 9), (True, 1)), after((True, 1), (False, 9), (True, 30))
    assert expected_factor(alike[0], DOWN) == pytest.approx(expected_factor(alike[1], DOWN), 0.1)


def test_what_was_seen_long_ago_fades() -> None:
    restless = after(*[(True, 1), (False, 2)] * 10)
    later = restless
    for _ in range(2000):
        later = later.a_step_later(spot_is_up=False)
    assert later.up.ended < 1e-6 < restless.up.ended


def test_a_run_grows_older_until_it_ends() -> None:
    belief = after((False, 4), (True, 3))
    assert (belief.side, belief.age) == (UP, 3)
