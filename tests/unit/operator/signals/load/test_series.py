import math
from datetime import UTC, datetime, timedelta

from plimsoll.observe.measured.sample import QueryResult, Sample
from plimsoll.signals.load.foresight.past import past_loads, past_span
from plimsoll.signals.load.foresight.series import MOST_STEPS, STEP_SECONDS, LoadSeries, step_of

START = datetime.fromtimestamp(1000 * STEP_SECONDS, UTC)
HALF = timedelta(seconds=STEP_SECONDS / 2)


def known(series: LoadSeries) -> list[float | None]:
    return [None if math.isnan(load) else float(load) for load in series.loads]


def a_series(*loads: float | None) -> LoadSeries:
    """What is remembered after these loads, two a step."""
    series = LoadSeries()
    for place, load in enumerate(loads):
        if load is not None:
            series.add(START + place * HALF, load)
    return series


def test_each_step_has_the_mean_of_what_was_observed() -> None:
    assert known(a_series(1, 3, 5, 7, 9)) == [2, 6]


def test_a_step_without_a_look_is_not_known() -> None:
    assert known(a_series(1, 3, None, None, 9, 9, 1)) == [2, None, 9]


def test_the_past_is_put_before_what_was_observed() -> None:
    series = a_series(1, 3, 5)
    series.fill({996: 4.0, 998: 6.0, 1000: 7.0, 1001: 8.0})
    assert known(series) == [4, None, 6, None, 2]


def test_the_past_comes_first_where_nothing_was_observed_yet() -> None:
    series = LoadSeries()
    series.fill({998: 4.0, 999: 5.0})
    series.add(START + 2 * HALF, 6)
    assert known(series) == [4, 5, None]


def test_two_weeks_are_remembered() -> None:
    series = a_series(1, 1, 1)
    series.fill({step: float(step) for step in range(-20_000, 1000)})
    assert len(series.loads) == MOST_STEPS
    series.add(START + timedelta(days=365), 1)
    assert len(series.loads) == MOST_STEPS


def test_two_weeks_are_asked_for_at_the_ends_of_steps() -> None:
    span = past_span(START + HALF)
    assert span.end == START
    points = (span.end - span.start).total_seconds() / span.step_seconds + 1
    assert points == MOST_STEPS < 11_000


def test_what_is_seen_at_the_end_of_a_step_was_in_it() -> None:
    samples = (Sample({"bucket": "long"}, 3, START), Sample({}, 4, START))
    assert past_loads(QueryResult(samples)) == {"long": {999: 3.0}, "any": {999: 4.0}}
    assert step_of(START) == 1000
