"""What sizes are worth to a job, and what a change costs it."""

from dataclasses import replace

import pytest

from plimsoll_placement.estimate.elastic.prospect import Prospect
from plimsoll_placement.estimate.elastic.worth import WorthTerms, move_cost, weight, worths
from plimsoll_placement.estimate.elastic.yields import demand

TERMS = WorthTerms()
HOUR = 3600.0
SCALES_WELL = {("A", 1): 1.0, ("A", 2): 1.9, ("A", 4): 3.6, ("B", 1): 3.0, ("B", 2): 5.7}
SCALES_BADLY = {("A", 1): 1.0, ("A", 2): 1.3, ("A", 4): 1.4}
JOB = Prospect(rates=SCALES_WELL, restart_seconds=60.0, left=10 * HOUR, stayed_seconds=HOUR)


def test_a_faster_size_is_worth_more() -> None:
    worth = worths(JOB, TERMS)
    assert worth["B", 1] > worth["A", 2] > worth["A", 1] > 0


def test_another_gpu_is_worth_more_to_the_job_that_scales_better() -> None:
    well = worths(replace(JOB, rates=SCALES_WELL), TERMS)
    badly = worths(replace(JOB, rates=SCALES_BADLY), TERMS)
    assert well["A", 2] - well["A", 1] > badly["A", 2] - badly["A", 1]


def test_growing_for_next_to_nothing_is_worth_less_than_staying_small() -> None:
    flat = {("A", 1): 1.0, ("A", 8): 1.001}
    worth = worths(replace(JOB, rates=flat), TERMS)
    assert worth["A", 8] < worth["A", 1]


def test_a_job_with_little_left_counts_more_than_one_with_much() -> None:
    assert weight(replace(JOB, left=60.0), TERMS) > weight(replace(JOB, left=2 * HOUR), TERMS)


def test_no_job_counts_less_than_the_floor_however_long_it_is() -> None:
    assert weight(replace(JOB, left=1e9), TERMS) == TERMS.least_weight


def test_a_size_without_a_rate_is_worth_nothing() -> None:
    assert ("A", 2) not in worths(replace(JOB, rates={("A", 1): 1.0, ("A", 2): 0.0}), TERMS)


def test_a_move_costs_more_the_longer_the_restart() -> None:
    running = replace(JOB, running=("A", 1))
    slow = replace(running, restart_seconds=250.0)
    assert move_cost(slow, TERMS) > move_cost(running, TERMS) > 0


def test_a_job_that_is_nearly_done_is_not_changed_for_a_faster_size() -> None:
    worth = worths(replace(JOB, running=("A", 1), left=70.0), TERMS)
    assert max(worth, key=worth.__getitem__) == ("A", 1)


def test_a_job_with_hours_left_is_changed_for_a_size_twice_as_fast() -> None:
    worth = worths(replace(JOB, running=("A", 1)), TERMS)
    assert worth["A", 2] > worth["A", 1]


def test_a_job_that_does_not_run_has_nothing_to_lose() -> None:
    assert demand(JOB, TERMS).restart_seconds == 0


def test_what_a_move_costs_in_the_plan_is_the_cost_over_the_horizon() -> None:
    running = replace(JOB, running=("A", 4))
    asked = demand(running, TERMS)
    in_the_plan = asked.restart_seconds * 4 / TERMS.most_horizon_seconds
    assert in_the_plan == pytest.approx(move_cost(running, TERMS), abs=0.01)


def test_what_another_size_gains_in_the_plan_is_its_worth_after_the_restart() -> None:
    running = replace(JOB, running=("A", 2))
    asked, worth = demand(running, TERMS), worths(running, TERMS)
    one, two, _ = next(of for kind, of in asked.yields.items() if kind == "A")
    cost = asked.restart_seconds * 2 / TERMS.most_horizon_seconds
    assert (two - one) / 1000 + cost == pytest.approx(worth["A", 2] - worth["A", 1], abs=0.02)


def test_a_count_that_a_type_does_not_have_is_never_better_than_the_one_below() -> None:
    asked = demand(replace(JOB, rates={("A", 1): 1.0, ("A", 2): 2.0, ("B", 1): 3.0}), TERMS)
    assert asked.counts == (1, 2)
    assert asked.yields[next(kind for kind in asked.yields if kind == "B")][1] < 10_000
    one, two = next(of for kind, of in asked.yields.items() if kind == "B")
    assert two < one


def test_where_nobody_knows_what_is_left_a_young_job_counts_more_than_an_old_one() -> None:
    young, old = replace(JOB, left=None, done=60.0), replace(JOB, left=None, done=2 * HOUR)
    assert weight(young, TERMS) > weight(old, TERMS)


def test_a_job_that_was_long_left_alone_is_changed_more_readily_than_one_just_changed() -> None:
    settled = replace(JOB, running=("A", 1), restart_seconds=250.0)
    changed = replace(settled, stayed_seconds=250.0)
    assert worths(settled, TERMS)["A", 2] > worths(changed, TERMS)["A", 2]


def test_a_restart_as_long_as_the_job_was_left_alone_leaves_half_of_a_size() -> None:
    changed = replace(JOB, running=("A", 1), rates={("A", 1): 1.0, ("B", 1): 2.0})
    changed = replace(changed, stayed_seconds=changed.restart_seconds)
    worth = worths(changed, TERMS)
    assert worth["B", 1] == pytest.approx(worth["A", 1])


def test_a_job_that_has_yet_to_begin_where_it_is_stays_for_all_that_could_be_gained() -> None:
    fast = {**SCALES_WELL, ("B", 4): 1_000.0}
    starting = replace(JOB, rates=fast, running=("A", 1), is_starting=True)
    assert max(worths(starting, TERMS), key=worths(starting, TERMS).__getitem__) == ("A", 1)
    begun = replace(starting, is_starting=False)
    assert max(worths(begun, TERMS), key=worths(begun, TERMS).__getitem__) == ("B", 4)


def test_a_restart_that_costs_nothing_is_free_at_any_time() -> None:
    free = replace(JOB, running=("A", 1), restart_seconds=0.0, is_starting=True)
    assert move_cost(free, TERMS) == 0
