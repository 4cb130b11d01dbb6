import pytest

from plimsoll_placement.lp.program import Climber, Program


def two_that_share(limit: float) -> Program:
    program = Program()
    first, second = program.column(4.0), program.column()
    program.at_most([(first, 1.0), (second, 2.0)], limit)
    return program


def test_what_was_climbed_first_is_held_for_the_next() -> None:
    climber = Climber(two_that_share(6.0), [[(0, 1.0)], [(1, 1.0)]], 1.0)
    assert climber.climb(0) == pytest.approx(4.0)
    climber.hold(0, 4.0)
    assert climber.climb(1) == pytest.approx(1.0)
    assert climber.values() == pytest.approx([4.0, 1.0])


def test_what_is_no_longer_held_is_given_up_for_more() -> None:
    climber = Climber(two_that_share(6.0), [[(0, 1.0)], [(1, 1.0)]], 1.0)
    climber.hold(0, 4.0)
    climber.hold(0, float("-inf"))
    assert climber.climb(1) == pytest.approx(3.0)


def test_what_cannot_be_is_no_value() -> None:
    climber = Climber(two_that_share(6.0), [[(0, 1.0)], [(1, 1.0)]], 1.0)
    climber.hold(0, 5.0)
    assert climber.climb(1) is None


def test_rows_that_nothing_can_break_are_left_out() -> None:
    program = Program()
    column = program.column(2.0)
    program.at_most([(column, 1.0)], 2.0)
    assert program.rows == []
    program.at_most([(column, 1.0)], 1.5)
    assert len(program.rows) == 1
