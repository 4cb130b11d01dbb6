"""What a forecast is made of: what is right with no history, and what history teaches."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll_placement.estimate.forecast.account import Account
from plimsoll_placement.estimate.forecast.distribution import Forecast
from plimsoll_placement.estimate.forecast.history import History, remembered
from plimsoll_placement.estimate.forecast.model import RECORD, forecast, learned
from plimsoll_placement.estimate.forecast.regressors import Horizon, lookback
from plimsoll_placement.estimate.forecast.shape import FORMS, learned_shape
from plimsoll_placement.estimate.forecast.smoothing import averages, believed, highest
from plimsoll_placement.estimate.forecast.trial import Trial

NOW = Horizon(lead=1)
LOADS = st.lists(st.one_of(st.floats(0, 1e6), st.just(float("nan"))), max_size=60)


def seasonal(days: int, *, step_seconds: float = 600.0) -> npt.NDArray[np.float64]:
    steps = np.arange(round(days * 86400 / step_seconds))
    return 100 + 80 * np.sin(2 * np.pi * steps * step_seconds / 86400)


def test_a_single_load_is_forecast_as_itself_with_headroom() -> None:
    made = forecast(History.of([50.0], 60), NOW)
    assert made is not None
    assert made.median == pytest.approx(50, rel=0.05)
    assert 50 < made.quantile(0.95) < 100


def test_nothing_known_gives_no_forecast() -> None:
    assert forecast(History.of([], 60), NOW) is None
    assert forecast(History.of([float("nan")] * 5, 60), NOW) is None


def test_no_load_ever_is_forecast_as_none() -> None:
    made = forecast(History.of([0.0] * 100, 60), NOW)
    assert made is not None
    assert made.quantile(0.99) < 1e-3


@settings(max_examples=6 * settings().max_examples // 5, deadline=None)
@given(LOADS, st.sampled_from([10.0, 60.0, 600.0, 3600.0, 86400.0]), st.integers(1, 4))
def test_no_forecast_is_negative_or_out_of_all_bounds(
    loads: list[float], step_seconds: float, hold: int
) -> None:
    made = forecast(History.of(loads, step_seconds), Horizon(2, hold))
    known = [load for load in loads if np.isfinite(load)]
    assert (made is None) == (not known)
    if made is not None:
        assert np.isfinite(made.loads).all()
        assert (np.diff(made.loads) >= 0).all()
        assert made.loads[0] >= 0
        assert made.loads[-1] <= 25 * max(known) + 1


def test_the_same_history_gives_the_same_forecast() -> None:
    history = History.of(seasonal(3), 600)
    first, second = forecast(history, NOW), forecast(history, NOW)
    assert first is not None
    assert second is not None
    assert first.loads.tolist() == second.loads.tolist()


@pytest.mark.parametrize("step_seconds", [300.0, 600.0, 1800.0])
def test_a_daily_season_is_foreseen_further_ahead_than_the_last_load_shows(
    step_seconds: float,
) -> None:
    loads, lead = seasonal(7, step_seconds=step_seconds), round(10800 / step_seconds)
    seen = len(loads) - lead
    made = forecast(History.of(loads[:seen], step_seconds), Horizon(lead))
    assert made is not None
    assert abs(made.median - loads[-1]) < abs(loads[seen - 1] - loads[-1]) / 3


def test_a_gap_makes_a_forecast_wider_and_leaves_it_where_it_was() -> None:
    noise = np.random.default_rng(1).normal(100, 5, 300)
    before = forecast(History.of(noise, 600), NOW)
    after = forecast(History.of([*noise, *[float("nan")] * 6], 600), NOW)
    assert before is not None
    assert after is not None
    assert after.median == pytest.approx(before.median, rel=0.1)
    assert after.quantile(0.95) > before.quantile(0.95)


def test_restless_loads_have_wider_forecasts_than_calm_ones() -> None:
    draw = np.random.default_rng(2)
    calm, restless = (100 * np.exp(draw.normal(0, each, 400)) for each in (0.02, 0.3))
    after_calm = forecast(History.of([*restless, *calm], 600), NOW)
    after_restless = forecast(History.of([*calm, *restless], 600), NOW)
    assert after_calm is not None
    assert after_restless is not None
    wide = after_restless.quantile(0.9) / after_restless.quantile(0.1)
    assert wide > 1.3 * after_calm.quantile(0.9) / after_calm.quantile(0.1)


def test_the_highest_load_of_several_steps_is_at_least_that_of_one() -> None:
    history = History.of(np.random.default_rng(3).uniform(50, 150, 500), 600)
    one, several = forecast(history, Horizon(2)), forecast(history, Horizon(2, hold=4))
    assert one is not None
    assert several is not None
    assert several.mean > one.mean


def test_a_replica_is_worth_it_only_if_it_is_used_by_more_than_its_price() -> None:
    made = Forecast(np.linspace(0, 100, 500))
    for price in (0.05, 0.2, 0.5):
        count = made.replicas(price, 7.0)
        used = [made.unserved(7.0 * n) - made.unserved(7.0 * (n + 1)) for n in range(count + 1)]
        assert used[count - 1] > price * 7 >= used[count] - 1e-6


def test_a_larger_share_unserved_lets_capacity_be_dearer() -> None:
    model = learned(History.of(np.random.default_rng(4).uniform(50, 150, 900), 600), NOW)
    prices = model.trial.curve()
    assert prices.price(0.001) < prices.price(0.01) < prices.price(0.05)


def test_a_price_keeps_to_its_share_on_loads_like_those_before() -> None:
    loads = np.random.default_rng(5).uniform(50, 150, 1200)
    model = learned(History.of(loads[:1000], 600), NOW)
    price, missed = model.trial.curve().price(0.01), 0.0
    for step in range(1000, 1200):
        made = model.forecast(History.of(loads[:step], 600))
        assert made is not None
        missed += max(0.0, loads[step] - made.wanted(price))
    assert missed / loads[1000:].sum() == pytest.approx(0.01, rel=0.6)


def leaping(steps: int, *, seed: int) -> npt.NDArray[np.float64]:
    """Mostly calm, for some hours restless, and with leaps out of calm that nothing announces."""
    draw = np.random.default_rng(seed)
    width = np.repeat(draw.choice([0.01, 0.2], steps // 24 + 1, p=[0.8, 0.2]), 24)[:steps]
    leaps = np.where(draw.random(steps) < 0.02, draw.uniform(1.2, 1.8, steps), 1.0)
    return 100 * np.exp(draw.normal(0, 1, steps) * width) * leaps


def a_trial(loads: npt.NDArray[np.float64], block_steps: int = 1) -> Trial:
    """A trial of forecasts that were all the same."""
    same, none = np.ones_like(loads), np.array([np.nan])
    shape = learned_shape(none, 50 * same[:1], 0.2 * same[:1], same[:1])
    return Trial(np.log(50 * same), 0.2 * same, loads, same, shape, 0.0, block_steps)


def test_a_share_is_kept_more_safely_where_it_came_from_few_hours() -> None:
    loads = np.full(240, 50.0)
    scattered, at_once = loads.copy(), loads.copy()
    scattered[::24] = 75
    at_once[100:110] = 75
    prices = [a_trial(each, 12).curve().price(0.005) for each in (scattered, at_once)]
    np.testing.assert_allclose(a_trial(scattered).unserved(), a_trial(at_once).unserved())
    assert prices[1] < prices[0]


@pytest.mark.slow
def test_a_share_is_kept_over_weeks_of_loads_that_leap() -> None:
    missed, came, model = 0.0, 0.0, None
    loads, account, allowed = leaping(1500, seed=11), Account(), 0.005
    for step in range(500, 1500):
        history = History.of(loads[:step], 600)
        if model is None or step % 48 == 0:
            model = learned(history, NOW)
        made = model.forecast(history)
        assert made is not None
        capacity = made.wanted(model.trial.curve().price(account.share(allowed)))
        account = account.after(loads[step], capacity, 600)
        missed, came = missed + max(0.0, loads[step] - capacity), came + loads[step]
    assert 0.5 * allowed < missed / came < 1.1 * allowed


def test_errors_grow_with_the_load_and_the_width_as_they_have_been_seen_to() -> None:
    draw = np.random.default_rng(12)
    loads, widths = np.exp(draw.normal(3, 1, 2000)), np.exp(draw.normal(-2, 1, 2000))
    for load_power, width_power in FORMS:
        errors = loads**load_power * widths**width_power * draw.normal(0, 1, 2000)
        shape = learned_shape(errors, loads, widths, np.ones(2000))
        assert FORMS[int(shape.counts.argmax())] == (load_power, width_power)
        doubled = shape.at(40, 0.2)[-25] / shape.at(20, 0.1)[-25]
        assert doubled == pytest.approx(2 ** (load_power + width_power), rel=0.2)


def test_the_quantiles_of_past_errors_are_those_of_a_forecast() -> None:
    draw = np.random.default_rng(14)
    loads, widths = np.exp(draw.normal(3, 1, 300)), np.exp(draw.normal(-2, 1, 300))
    shape = learned_shape(draw.normal(0, 1, 300) * loads * widths, loads, widths, np.ones(300))
    found = shape.quantiles(np.array([0.5, 0.95]), loads[:1], widths[:1])[:, 0]
    made = shape.at(float(loads[0]), float(widths[0]))
    np.testing.assert_allclose(found, np.quantile(made, [0.5, 0.95]))


@pytest.mark.parametrize(("step_seconds", "horizon"), [(300.0, NOW), (3600.0, Horizon(30, 2))])
def test_a_forecast_needs_no_more_than_it_looks_back(step_seconds: float, horizon: Horizon) -> None:
    loads = seasonal(14, step_seconds=step_seconds) * leaping(
        round(14 * 86400 / step_seconds), seed=13
    )
    model = learned(History.of(loads, step_seconds), horizon)
    back = lookback(step_seconds, horizon)
    assert back < len(loads)
    whole = model.forecast(History.of(loads, step_seconds))
    late = model.forecast(History.of(loads[-back:], step_seconds))
    assert whole is not None
    assert late is not None
    np.testing.assert_allclose(late.loads, whole.loads, rtol=1e-9)


def test_what_was_left_unserved_is_made_up_for() -> None:
    new, short, ample = Account(), Account().after(100, 50, 600), Account().after(100, 200, 600)
    assert short.share(0.005) < new.share(0.005) < ample.share(0.005)
    assert Account().after(float("nan"), 5, 600) == Account()


def test_a_history_keeps_two_weeks() -> None:
    history = History.of([-1.0, float("inf"), *range(3000)], 600).after(7.0, float("nan"))
    assert len(history.loads) == remembered(600) == 2016


def test_a_moment_measured_after_a_gap_is_not_taken_for_the_load() -> None:
    nan = float("nan")
    found = believed(np.array([30, nan, nan, 0.2, 31, nan, 29, 2]))
    np.testing.assert_array_equal(found, [30, nan, nan, nan, 31, nan, 29, 2])


@given(st.lists(st.one_of(st.floats(0, 100), st.just(float("nan"))), min_size=1, max_size=150))
def test_averages_in_blocks_are_those_step_by_step(values: list[float]) -> None:
    total = weight = 0.0
    kept = 0.5 ** (1 / 3)
    for value, found in zip(values, averages(np.array(values), (3.0,))[0], strict=True):
        seen = np.isfinite(value)
        total, weight = total * kept + (value if seen else 0), weight * kept + seen
        if weight > 1e-6:
            assert found == pytest.approx(total / weight, abs=1e-6)


def test_the_highest_of_late_is_that_of_its_width() -> None:
    assert highest(np.array([3.0, 1, 2, 0, 0]), 3).tolist() == [3, 3, 3, 2, 2]


def test_after_one_leap_of_a_first_day_no_second_one_is_provided_for() -> None:
    loads = np.concatenate([np.full(60, 10.0), np.full(15, 50.0)])
    model, history = learned(History.of(loads, 120), NOW), History.of(loads, 120)
    found = model.forecast(history)
    assert found is not None
    assert found.wanted(0.001) <= RECORD * 50
    price = model.trial.curve(10).price(0.01)
    assert 50 <= 10 * found.replicas(price, 10) <= 70
