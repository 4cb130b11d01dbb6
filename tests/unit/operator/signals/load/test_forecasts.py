import itertools
import random
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.signals.load.foresight.aim import Aim
from plimsoll.signals.load.foresight.forecasts import (
    MOST_STALE,
    Ahead,
    Forecasts,
    horizon_of,
    in_blocks,
)
from plimsoll.signals.load.foresight.load_forecast import (
    MOST_OF_A_NAMESPACE,
    MOST_OF_A_ROLE,
    LoadForecast,
    Outlook,
)
from plimsoll.signals.load.foresight.series import STEP_SECONDS, LoadSeries, step_of
from plimsoll.signals.load.starts import Start
from plimsoll_placement.estimate.forecast.regressors import Horizon
from support.clusters.seen import NOW
from support.objects.load_results import WINDOW, a_service

STEP = timedelta(seconds=STEP_SECONDS)
MIDNIGHT = NOW.replace(hour=0)
NEAR = Horizon(1, 3)
BUDGET = 60.0
MINUTE, SOON = timedelta(minutes=1), timedelta(seconds=90)
ALLOWED = 0.01
CAUTIOUS = Aim(0.9, ALLOWED)
PRICED = Aim(None, ALLOWED, unit=10)


def loads_until(
    now: datetime, load: Callable[[float], float], *, hours: float = 168
) -> dict[int, float]:
    """What was until then, by a load that depends on the hour of the day, and some noise."""
    noise, steps = random.Random(0), int(hours * 3600 / STEP_SECONDS)
    times = [now - n * STEP for n in range(1, steps + 1)]
    return {step_of(at): load(hour_of(at)) * noise.uniform(0.9, 1.1) for at in times}


def hour_of(at: datetime) -> float:
    return (at - MIDNIGHT).total_seconds() / 3600 % 24


def a_series(now: datetime, load: Callable[[float], float], *, hours: float = 168) -> LoadSeries:
    series = LoadSeries()
    series.fill(loads_until(now, load, hours=hours))
    series.add(now, load(hour_of(now)))
    return series


def fixed(quantile: float) -> Aim:
    return Aim(quantile, ALLOWED)


def load_in(
    forecasts: Forecasts, series: LoadSeries, *, key: str = "key", aim: Aim = CAUTIOUS
) -> float | None:
    found = forecasts.foreseen(key, series, NEAR, aim, aim.allowed)
    return None if found is None else found.load


def forecast(series: LoadSeries, share: float = 0.9) -> float | None:
    forecasts = Forecasts()
    forecasts.allow(BUDGET)
    return load_in(forecasts, series, aim=fixed(share))


def by_day(hour: float) -> float:
    return 100 if 9 <= hour < 18 else 10


def only_by_day(hour: float) -> float:
    return 100 if 9 <= hour < 18 else 0


def test_what_comes_each_day_is_foreseen() -> None:
    before_nine = forecast(a_series(MIDNIGHT + timedelta(hours=8, minutes=56), by_day))
    at_night = forecast(a_series(MIDNIGHT + timedelta(hours=3), by_day))
    assert before_nine is not None
    assert at_night is not None
    assert before_nine > 20
    assert 9 < at_night < 12


def test_a_service_without_load_at_night_may_sleep_and_is_woken_in_time() -> None:
    assert forecast(a_series(MIDNIGHT + timedelta(hours=3), only_by_day)) == 0
    woken = forecast(a_series(MIDNIGHT + timedelta(hours=8, minutes=56), only_by_day))
    assert woken
    assert woken > 1


def test_a_higher_quantile_is_more_cautious() -> None:
    series = a_series(NOW, by_day)
    low, high = forecast(series, 0.5), forecast(series, 0.99)
    assert low is not None
    assert high is not None
    assert low < high


def test_of_little_nothing_is_forecast() -> None:
    assert forecast(a_series(NOW, by_day, hours=0.4)) is None
    assert forecast(a_series(NOW, by_day, hours=0.6)) is not None


def test_learning_keeps_to_its_time() -> None:
    ticks, series = itertools.count(), a_series(NOW, by_day, hours=3)
    forecasts = Forecasts(clock=lambda: float(next(ticks)))
    assert load_in(forecasts, series, key="one") is None
    forecasts.allow(2)
    known = [load_in(forecasts, series, key=key) for key in ("one", "two", "three")]
    assert [each is None for each in known] == [False, False, True]


def test_what_was_learned_is_used_for_new_loads_and_for_one_horizon() -> None:
    series, forecasts = a_series(NOW, by_day, hours=3), Forecasts()
    forecasts.allow(BUDGET)
    first = load_in(forecasts, series)
    forecasts.allow(0)
    series.add(NOW + STEP, 500)
    series.add(NOW + 2 * STEP, 500)
    later = load_in(forecasts, series)
    assert first is not None
    assert later is not None
    assert later > first
    farther = Horizon(5, 2)
    assert forecasts.foreseen("key", series, farther, CAUTIOUS, ALLOWED) is None


def test_an_old_lesson_is_learned_again() -> None:
    series, forecasts = a_series(NOW, lambda _: 10, hours=24), Forecasts()
    forecasts.allow(BUDGET)
    load_in(forecasts, series)
    wild = random.Random(0)
    for step in range(1, MOST_STALE):
        series.add(NOW + step * STEP, wild.uniform(1, 400))
    forecasts.allow(0)
    unlearned = load_in(forecasts, series)
    series.add(NOW + MOST_STALE * STEP, 10)
    forecasts.allow(BUDGET)
    learned = load_in(forecasts, series)
    assert unlearned is not None
    assert learned is not None
    assert learned > unlearned


def test_what_is_forgotten_is_unknown() -> None:
    series, forecasts = a_series(NOW, by_day, hours=3), Forecasts()
    forecasts.allow(BUDGET)
    load_in(forecasts, series)
    forecasts.keep(["other"])
    forecasts.allow(0)
    assert load_in(forecasts, series) is None


@pytest.mark.parametrize(
    ("start", "horizon", "expected"),
    [
        (0, 300, Horizon(1, 3)),
        (90, 300, Horizon(1, 3)),
        (300, 300, Horizon(3, 1)),
        (600, 1200, Horizon(6, 5)),
        (600, 600, Horizon(6, 1)),
        (0, 1, Horizon(1, 1)),
    ],
)
def test_looked_ahead_is_from_when_replicas_could_be_ready(
    start: int, horizon: int, expected: Horizon
) -> None:
    assert horizon_of(timedelta(seconds=start), timedelta(seconds=horizon)) == expected


@pytest.mark.parametrize(
    ("horizon", "expected"),
    [
        (Horizon(1, 1), Ahead(1, Horizon(1))),
        (Horizon(1, 3), Ahead(3, Horizon(1))),
        (Horizon(6, 5), Ahead(5, Horizon(2))),
        (Horizon(2, 4), Ahead(5, Horizon(1))),
        (Horizon(15, 1), Ahead(5, Horizon(3))),
        (Horizon(1, 500), Ahead(30, Horizon(1, 17))),
    ],
)
def test_models_look_a_few_blocks_ahead(horizon: Horizon, expected: Ahead) -> None:
    assert in_blocks(horizon) == expected


@given(st.integers(1, 400), st.integers(1, 400))
def test_blocks_cover_the_horizon(lead: int, hold: int) -> None:
    ahead = in_blocks(Horizon(lead, hold))
    first, last = ahead.horizon.lead - 1, ahead.horizon.steps
    assert first * ahead.steps < lead
    assert lead + hold - 1 <= last * ahead.steps


def foreseen(foresight: LoadForecast, load: float, at: datetime) -> float:
    outlook = Outlook.of(a_service(), CAUTIOUS, Start(SOON, SOON))
    return foresight.demand(("u", "server", "any"), load, outlook, at).foreseen


def test_without_a_forecast_the_most_of_late_is_foreseen() -> None:
    foresight, minute = LoadForecast(gap=WINDOW), timedelta(minutes=1)
    loads = [foreseen(foresight, load, NOW + n * minute) for n, load in enumerate([5, 9, 1, 1, 1])]
    assert loads == [5, 9, 9, 9, 9]
    assert foreseen(foresight, 1, NOW + 5 * minute) == 1


def test_what_comes_now_is_to_be_served_whatever_the_forecast() -> None:
    foresight = LoadForecast(gap=WINDOW)
    foresight.fill(("u", "server", "any"), loads_until(NOW, lambda _: 10))
    foresight.allow_learning(BUDGET)
    assert 10 < foreseen(foresight, 10, NOW) < 14
    assert foreseen(foresight, 500, NOW + timedelta(seconds=1)) == 500


def test_a_horizon_reaches_at_least_to_when_replicas_are_ready() -> None:
    job = a_service(load={"forecast": {"horizon": "1m"}})
    start = Start(anywhere=7 * MINUTE, on_new_node=9 * MINUTE)
    assert Outlook.of(job, CAUTIOUS, start).horizon == 7 * MINUTE
    assert Outlook.of(job, CAUTIOUS, None).horizon == timedelta(minutes=1)


def test_a_horizon_reaches_to_when_a_new_node_is_ready() -> None:
    start = Start(anywhere=2 * MINUTE, on_new_node=3 * MINUTE)
    outlook = Outlook.of(a_service(), CAUTIOUS, start, 6 * MINUTE)
    assert (outlook.start, outlook.horizon) == (2 * MINUTE, 9 * MINUTE)


def remembered(foresight: LoadForecast, role: str, buckets: list[str]) -> None:
    outlook = Outlook.of(a_service(), CAUTIOUS, None)
    foresight.look("team", "u", role, buckets)
    for bucket in buckets:
        foresight.demand(("u", role, bucket), 1.0, outlook, NOW)


def test_sizes_that_are_called_anew_each_time_are_forgotten() -> None:
    foresight = LoadForecast(gap=WINDOW)
    for look in range(20):
        remembered(foresight, "server", [f"size-{look}-{n}" for n in range(MOST_OF_A_ROLE)])
    assert len(foresight) == MOST_OF_A_ROLE
    foresight.forget_others(())
    assert len(foresight) == 0


def test_beyond_the_histories_of_a_namespace_loads_are_foreseen_by_what_they_were_of_late() -> None:
    """What comes at the same hour each day is foreseen of the first, and not of one too many."""
    foresight = LoadForecast(gap=WINDOW)
    for number in range(MOST_OF_A_NAMESPACE // MOST_OF_A_ROLE):
        remembered(foresight, f"role-{number}", [f"size-{n}" for n in range(MOST_OF_A_ROLE)])
    foresight.allow_learning(BUDGET)
    foresight.look("team", "u", "late", ["any"])
    foresight.look("other", "v", "server", ["any"])
    past = loads_until(NOW, lambda _: 50.0)
    for key in (("u", "late", "any"), ("v", "server", "any")):
        foresight.fill(key, past)
    outlook = Outlook.of(a_service(), CAUTIOUS, None)
    assert foresight.demand(("u", "late", "any"), 1.0, outlook, NOW).foreseen == 1.0
    assert foresight.demand(("v", "server", "any"), 1.0, outlook, NOW).foreseen > 10
