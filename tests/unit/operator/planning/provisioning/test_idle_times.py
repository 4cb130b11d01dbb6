"""How long idle nodes are kept, by how soon others were needed again."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from plimsoll.planning.provisioning.idle_times import (
    FEWEST_GAPS,
    LONGEST,
    SHORTEST,
    UNKNOWN,
    IdleTimes,
    cheapest_time,
)
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, seen
from support.objects.bought_nodes import a_growing_pool

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def after_gaps(gaps: Sequence[timedelta]) -> IdleTimes:
    """What is known once a node of `h100` was idle for each of these times, and needed again."""
    times, now = IdleTimes(), NOW
    times.see({"h100": 1}, now)
    for gap in gaps:
        times.see({"h100": 0}, now)
        now += gap
        times.see({"h100": 1}, now)
        now += HOUR
    return times


def kept(times: IdleTimes, pool: Manifest) -> timedelta:
    snapshot = seen(pool)
    return times.idle_time(snapshot.pools[0], snapshot, worth=100)


def test_a_node_is_kept_for_as_long_as_past_gaps_were_if_that_is_cheaper_than_a_start() -> None:
    gaps = [5 * MINUTE] * FEWEST_GAPS
    assert kept(after_gaps(gaps), a_growing_pool()) == 5 * MINUTE


def test_nodes_that_are_needed_hours_later_go_at_once() -> None:
    gaps = [3 * HOUR] * FEWEST_GAPS
    assert kept(after_gaps(gaps), a_growing_pool(price="20")) == SHORTEST


def test_the_dearer_a_node_the_sooner_it_goes() -> None:
    gaps = [timedelta(minutes=2 + 3 * n) for n in range(4 * FEWEST_GAPS)]
    times = after_gaps(gaps)
    cheap, dear = (kept(times, a_growing_pool(price=price)) for price in ("1", "40"))
    assert dear < cheap


def test_one_that_takes_longer_to_start_is_kept_longer() -> None:
    gaps = [timedelta(minutes=2 + 4 * n) for n in range(4 * FEWEST_GAPS)]
    times = after_gaps(gaps)
    quick, slow = (
        kept(times, a_growing_pool(price="20", provisioning={"startTime": time}))
        for time in ("1m", "15m")
    )
    assert quick < slow


@pytest.mark.parametrize(
    ("gaps", "price"), [([5 * MINUTE] * (FEWEST_GAPS - 1), "2"), ([5 * MINUTE] * FEWEST_GAPS, "0")]
)
def test_little_known_or_no_price_means_a_plain_time(gaps: list[timedelta], price: str) -> None:
    assert kept(after_gaps(gaps), a_growing_pool(price=price)) == UNKNOWN


def test_what_the_pool_says_comes_first() -> None:
    pool = a_growing_pool(provisioning={"idleTime": "7m"})
    assert kept(after_gaps([HOUR] * FEWEST_GAPS), pool) == 7 * MINUTE


def test_what_was_known_before_a_restart_is_used_until_more_is() -> None:
    pool = a_growing_pool()
    pool["status"] = {"provisioning": {"idleTime": "17m"}}
    assert kept(IdleTimes(), pool) == 17 * MINUTE
    assert kept(after_gaps([5 * MINUTE] * FEWEST_GAPS), pool) == 5 * MINUTE


def test_the_last_node_to_become_idle_is_the_first_to_be_needed() -> None:
    times = IdleTimes()
    times.see({"h100": 2}, NOW)
    times.see({"h100": 1}, NOW + 10 * MINUTE)
    times.see({"h100": 0}, NOW + 20 * MINUTE)
    times.see({"h100": 2}, NOW + 30 * MINUTE)
    assert times.gaps("h100") == (10 * MINUTE, 20 * MINUTE)


def test_a_node_that_is_not_needed_again_is_remembered_too() -> None:
    times = IdleTimes()
    times.see({"h100": 1}, NOW)
    times.see({"h100": 0}, NOW)
    times.see({"h100": 0}, NOW + LONGEST + MINUTE)
    assert times.gaps("h100") == (LONGEST + MINUTE,)
    times.see({"h100": 1}, NOW + 2 * LONGEST)
    assert len(times.gaps("h100")) == 1


def test_more_needed_than_ever_before_ends_no_gap() -> None:
    times = IdleTimes()
    times.see({"h100": 1}, NOW)
    times.see({"h100": 5}, NOW + MINUTE)
    assert times.gaps("h100") == ()


@pytest.mark.parametrize("start", [0.1, 1.0, 10.0, 100.0])
def test_no_other_time_would_have_cost_less(start: float) -> None:
    gaps = [timedelta(minutes=minutes) for minutes in (2, 3, 5, 9, 17, 33, 65, 129, 200, 230)]

    def cost(time: timedelta) -> float:
        idle = sum(min(gap, time).total_seconds() for gap in gaps) / 3600
        return 16 * idle + start * sum(gap > time for gap in gaps)

    best = cost(cheapest_time(gaps, 16, start))
    assert all(best <= cost(minutes * MINUTE) for minutes in range(1, 240))
