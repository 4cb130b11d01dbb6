import math

import pytest

from plimsoll_placement.estimate.spot.risk import (
    History,
    checkpoint_seconds,
    interruptions_per_hour,
)


def test_before_anything_is_seen_the_declared_rate_holds() -> None:
    assert interruptions_per_hour(0.05, History()) == pytest.approx(0.05)


def test_what_is_seen_outweighs_what_is_declared_in_the_end() -> None:
    rates = [
        interruptions_per_hour(0.05, History(0.2 * hours, hours)) for hours in (10, 100, 10_000)
    ]
    assert rates == sorted(rates)
    assert rates[-1] == pytest.approx(0.2, rel=0.01)


def test_hours_without_interruption_lower_the_rate() -> None:
    assert interruptions_per_hour(0.05, History(0, 40)) == pytest.approx(0.025)


def test_a_pool_that_declares_nothing_is_calm_until_it_is_seen_not_to_be() -> None:
    assert interruptions_per_hour(0, History(0, 500)) == 0
    assert interruptions_per_hour(0, History(6, 500)) == pytest.approx(0.01)


def lost(interval: float, *, rate: float = 0.1, save: float = 30) -> float:
    """The share lost to first order, as Young's formula takes it."""
    return save / interval + rate / 3600 * interval / 2


def test_no_other_interval_loses_less() -> None:
    best = checkpoint_seconds(30, 0.1, least=1, most=1e6)
    assert best == pytest.approx(math.sqrt(2 * 30 * 36_000))
    assert lost(best) < min(lost(best * 0.9), lost(best * 1.1))


@pytest.mark.parametrize(
    ("rate", "seconds"), [(0, 3600), (1e-9, 3600), (1e6, 60), (10.0, math.sqrt(2 * 30 * 360))]
)
def test_the_interval_stays_within_its_bounds(rate: float, seconds: float) -> None:
    assert checkpoint_seconds(30, rate, least=60, most=3600) == pytest.approx(seconds)
