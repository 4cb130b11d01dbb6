import pytest

from plimsoll_agent.operator_life import Life
from plimsoll_agent.orders import Cap, Keep, Limits, Order, Restore, Target, order, target, watts_of

LIMITS = Limits(current=300_000, enforced=300_000, lowest=200_000, highest=700_000, default=650_000)


def given(wanted: str | None, life: Life) -> Order:
    return order(wanted, life, timeout_seconds=60)


def test_a_wish_is_a_cap_while_the_operator_lives() -> None:
    assert given("300", Life.ALIVE) == Cap(300)


def test_without_a_wish_the_default_is_restored() -> None:
    assert given(None, Life.ALIVE) == given(None, Life.SILENT) == Restore()


@pytest.mark.parametrize("wanted", ["300", None, "a lot"])
def test_as_long_as_nothing_is_known_of_the_operator_nothing_is_done(wanted: str | None) -> None:
    assert given(wanted, Life.UNKNOWN) == Keep()


def test_a_cap_from_a_silent_operator_does_not_count_and_that_is_reported() -> None:
    said = "the operator has been silent for 60 s: default limits are restored"
    assert given("300", Life.SILENT) == Restore(said)


@pytest.mark.parametrize("wanted", ["", "300 W", "300.5", "-300", "+300", "٣٠٠", "1" * 7, "3e2"])
def test_what_is_no_whole_number_of_watts_is_refused(wanted: str) -> None:
    assert given(wanted, Life.ALIVE) == Keep(f"{wanted!r} is no whole number of watts")


@pytest.mark.parametrize("watts", [200, 450, 700])
def test_a_cap_within_the_range_is_the_target(watts: int) -> None:
    assert target(Cap(watts), LIMITS) == Target(watts * 1000)


@pytest.mark.parametrize("watts", [0, 199, 701, 999_999])
def test_a_cap_outside_of_the_range_is_refused(watts: int) -> None:
    refused = target(Cap(watts), LIMITS)
    assert refused == Target(None, f"a cap of {watts} W is outside of 200 to 700 W")


def test_the_range_that_is_reported_is_one_that_would_be_accepted() -> None:
    odd = Limits(current=0, enforced=0, lowest=100_500, highest=250_500, default=0)
    refused = target(Cap(100), odd)
    assert refused.refusal == "a cap of 100 W is outside of 101 to 250 W"
    assert target(Cap(101), odd).milliwatts == 101_000
    assert target(Cap(250), odd).milliwatts == 250_000


def test_restoring_means_the_default_and_keeping_what_there_is() -> None:
    assert target(Restore(), LIMITS) == Target(650_000)
    assert target(Keep(), LIMITS) == Target(None)


def test_watts_are_rounded_up_for_a_limit_is_a_bound() -> None:
    assert [watts_of(each) for each in (300_000, 300_001, 299_999)] == [300, 301, 300]
