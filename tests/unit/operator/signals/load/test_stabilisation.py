import math
from datetime import timedelta

from plimsoll.signals.load.foresight.stabilisation import SLOTS, ForeseenOfLate
from support.clusters.seen import NOW

MINUTE, WINDOW = timedelta(minutes=1), timedelta(minutes=5)


def after(*foreseen: float, step: timedelta = MINUTE) -> ForeseenOfLate:
    """What is remembered when this was foreseen, the last of it now."""
    late = ForeseenOfLate(gap=2 * MINUTE)
    for place, each in enumerate(foreseen):
        late.add(NOW - (len(foreseen) - 1 - place) * step, each, WINDOW)
    return late


def test_without_a_window_the_present_counts() -> None:
    late = after(5, 1, 3)
    assert (late.least(NOW, timedelta()), late.most(NOW, timedelta())) == (3, 3)


def test_the_least_and_the_most_of_a_window_are_remembered() -> None:
    late = after(9, 9, 2, 8, 4, 4, 4)
    assert (late.least(NOW, WINDOW), late.most(NOW, WINDOW)) == (2, 9)


def test_what_is_older_than_the_window_is_forgotten() -> None:
    late = after(9, 1, 4, 4, 4, 4, 4, 4)
    assert (late.least(NOW, WINDOW), late.most(NOW, WINDOW)) == (4, 4)


def test_until_all_of_a_window_is_known_nothing_changes() -> None:
    late = after(4, 4, 4)
    assert (late.least(NOW, WINDOW), late.most(NOW, WINDOW)) == (0, math.inf)


def test_a_gap_ends_what_is_known() -> None:
    late = after(4, 4, 4, 4, 4, 4, 4, 4, step=3 * MINUTE)
    assert late.most(NOW, WINDOW) == math.inf


def test_what_is_remembered_is_bounded() -> None:
    late, day = ForeseenOfLate(gap=MINUTE), timedelta(days=1)
    for second in range(0, 2 * 86_400, 20):
        late.add(NOW + timedelta(seconds=second), second, day)
    end = NOW + timedelta(seconds=2 * 86_400 - 20)
    assert len(late._slots) <= SLOTS + 2  # noqa: SLF001 - the claim is about it  # pyright: ignore[reportPrivateUsage]
    assert late.most(end, day) == 2 * 86_400 - 20
    assert abs(late.least(end, day) - 86_400) <= 2 * 86_400 / SLOTS
