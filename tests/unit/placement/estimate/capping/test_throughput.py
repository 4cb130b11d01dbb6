import pytest

from plimsoll_placement.estimate.capping.throughput import (
    EXPONENTS,
    throughput_share,
    watts_for_share,
)


def share(cap_watts: float, use: str = "Training") -> float:
    exponent = EXPONENTS[use]
    return throughput_share(cap_watts, idle_watts=70, draw_watts=620, exponent=exponent)


def test_a_cap_above_the_draw_costs_nothing() -> None:
    assert share(620) == share(700) == 1


def test_nothing_is_left_at_idle() -> None:
    assert share(70) == share(50) == 0


def test_decode_loses_less_than_prefill_and_training() -> None:
    assert share(400, "Decode") > share(400, "Mixed") > share(400, "Prefill")
    assert share(400, "Mixed") > share(400, "Training")


def test_half_the_watts_above_idle_leave_seven_tenths_of_training() -> None:
    assert share(345) == pytest.approx(0.5**0.5)


@pytest.mark.parametrize("left", [0.5, 0.8, 0.95, 1.0])
def test_the_watts_for_a_share_leave_that_share(left: float) -> None:
    watts = watts_for_share(left, idle_watts=70, draw_watts=620, exponent=0.35)
    assert throughput_share(watts, idle_watts=70, draw_watts=620, exponent=0.35) == pytest.approx(
        left
    )
