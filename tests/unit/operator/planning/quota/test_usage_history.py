"""What a queue has held of late, as its status keeps it."""

from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.api.job_queue import JobQueue, JobQueueStatus, QuotaUsage
from plimsoll.api.placement_policy import PlacementPolicy
from plimsoll.planning.quota.usage_history import (
    LONGEST_WATCH,
    RECOUNT,
    UsageHistory,
    half_life,
    usage_history,
)
from plimsoll_devcluster.gpu_models import H100
from support.clusters.seen import NOW
from support.objects.job_manifests import a_policy, a_queue

DAY = timedelta(days=1)
NONE: dict[str, Decimal] = {}


def a_history(
    *, used: float = 0, average: float = 0, counted_until: datetime | None = NOW
) -> JobQueue:
    usage = QuotaUsage(type=H100, used=Decimal(str(used)), average=Decimal(str(average)))
    status = JobQueueStatus(counted_until=counted_until, usage=(usage,))
    return JobQueue.model_validate(a_queue("q")).model_copy(update={"status": status})


def later(queue: JobQueue, after: timedelta, used: float) -> UsageHistory:
    now = {H100: Decimal(str(used))} if used else NONE
    return usage_history(queue, now, DAY, NOW + after)


def average(history: UsageHistory) -> float:
    return float(history.average.get(H100, 0))


def kept(history: UsageHistory, *, used: float) -> JobQueue:
    return a_history(used=used, average=average(history), counted_until=history.counted_until)


def test_a_queue_that_was_never_counted_begins_at_nothing() -> None:
    new = a_history(used=8, counted_until=None)
    assert later(new, timedelta(0), 8) == UsageHistory(NOW)


def test_what_was_held_a_half_life_ago_counts_half() -> None:
    idle = later(a_history(average=4), DAY, 0)
    assert (average(idle), idle.counted_until) == (2, NOW + DAY)


def test_what_was_held_since_the_last_count_is_what_the_status_says() -> None:
    ended = later(a_history(used=8), timedelta(minutes=20), 0)
    assert average(ended) == pytest.approx(8 * (1 - 0.5 ** (20 / 1440)), abs=1e-6)
    begun = later(a_history(used=0), timedelta(minutes=20), 8)
    assert average(begun) == 0


def test_nothing_is_written_only_because_a_little_time_has_passed() -> None:
    same = a_history(used=8, average=4)
    assert later(same, RECOUNT - timedelta(seconds=1), 8).counted_until == NOW
    assert later(same, RECOUNT, 8).counted_until == NOW + RECOUNT


def test_of_an_idle_queue_nothing_is_ever_written() -> None:
    assert later(a_history(), 100 * DAY, 0) == UsageHistory(NOW)


def test_a_short_half_life_is_counted_more_often() -> None:
    soon = timedelta(seconds=15)
    used, half = {H100: Decimal(8)}, timedelta(minutes=10)
    history = usage_history(a_history(used=8), used, half, NOW + soon)
    assert history.counted_until == NOW + soon


def test_of_a_time_in_which_nobody_counted_only_what_was_held_throughout_counts() -> None:
    away = LONGEST_WATCH + timedelta(seconds=1)
    assert average(later(a_history(used=8), away, 0)) == 0
    part = 1 - 0.5 ** (away / DAY)
    assert average(later(a_history(used=8), away, 2)) == pytest.approx(2 * part, abs=1e-6)


def test_a_clock_that_goes_back_counts_nothing() -> None:
    before = a_history(used=8, average=3)
    assert later(before, -DAY, 4) == UsageHistory(NOW, {H100: Decimal(3)})


def test_the_past_can_be_told_not_to_count() -> None:
    none = usage_history(a_history(used=8, average=3), NONE, timedelta(0), NOW + DAY)
    assert none == UsageHistory()


def test_the_half_life_is_the_policys_and_a_week_without_one() -> None:
    policy = PlacementPolicy.model_validate(a_policy(fairness={"usageHalfLife": "36h"}))
    assert half_life(policy) == timedelta(hours=36)
    assert half_life(None) == timedelta(days=7)


@given(
    st.floats(0, 64).map(lambda gpus: round(gpus, 3)),
    st.floats(0, 64).map(lambda gpus: round(gpus, 3)),
    st.lists(st.integers(600, 1800), min_size=1, max_size=6),
)
def test_it_makes_no_difference_how_often_is_counted(
    held: float, before: float, pauses: list[int]
) -> None:
    queue = a_history(used=held, average=before)
    whole = sum(pauses) / DAY.total_seconds()
    passed = 0
    for pause in pauses:
        passed += pause
        queue = kept(later(queue, timedelta(seconds=passed), held), used=held)
    counted = float(queue.status.usage[0].average)
    exact = before * 0.5**whole + held * (1 - 0.5**whole)
    assert counted == pytest.approx(exact, abs=1e-5)
    assert min(held, before) - 1e-5 <= counted <= max(held, before) + 1e-5
