import pytest

from plimsoll_placement.estimate.spot.choice import (
    Choice,
    SpotTerms,
    Standing,
    ends_in_time,
    safe_choices,
)

TERMS = SpotTerms(600, 720, spot_price=1, on_demand_price=3)
HOUR = 3600.0


def choices(
    work: float, left: float, on: Choice = Choice.WAIT, *, overhead: float = 0, up: bool = True
) -> set[Choice]:
    standing = Standing(work * 600, left * 600, on, overhead)
    return {*safe_choices(standing, TERMS, spot_is_up=up)}


def test_with_time_to_spare_everything_is_safe() -> None:
    assert choices(10, 20) == set(Choice)


def test_spot_that_is_down_is_no_choice() -> None:
    assert choices(10, 20, up=False) == {Choice.WAIT, Choice.ON_DEMAND}


def test_a_start_takes_its_overhead_out_of_what_is_left() -> None:
    # A start of 1.2 steps and 10 of work take 12 steps: 13 leave one to wait, 12 none.
    assert Choice.WAIT in choices(10, 13)
    assert choices(10, 12) == {Choice.ON_DEMAND}


def test_who_is_on_spot_may_stay_as_long_as_it_may_be_interrupted() -> None:
    # After one more step 9 of work are left, with a start 11 steps.
    assert Choice.SPOT in choices(10, 12, Choice.SPOT)
    assert choices(10, 11, Choice.SPOT) == {Choice.ON_DEMAND}


def test_work_that_ends_on_spot_in_this_step_needs_no_time_after_it() -> None:
    assert Choice.SPOT in choices(1, 1, Choice.SPOT)
    assert Choice.SPOT not in choices(1, 1, Choice.SPOT, overhead=60)


def test_who_is_late_has_on_demand_left() -> None:
    assert choices(10, -1) == {Choice.ON_DEMAND}


@pytest.mark.parametrize(("steps", "in_time"), [(12, True), (11.999, False)])
def test_only_whole_steps_count(steps: float, in_time: bool) -> None:  # noqa: FBT001 - a table
    assert ends_in_time(10 * 600, steps * 600, TERMS) is in_time
