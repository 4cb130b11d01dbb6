"""Queries as people write them, and what is wrong with some."""

from datetime import UTC, datetime, timedelta

import pytest

from plimsoll.vocabulary.dimensions import Dimension
from plimsoll_console.reports.opencost import Fields as OpenCostFields
from plimsoll_console.reports.opencost import queries
from plimsoll_console.reports.query import Fields, Query, Sight
from plimsoll_console.reports.times import UnusableQuery, window

NOW = datetime(2026, 11, 27, 10, 30, tzinfo=UTC)  # a Friday


def parsed(**fields: str) -> Query:
    return Query.parsed(Fields(**fields), NOW)


def test_times_are_full_hours_around_what_was_asked_for() -> None:
    query = parsed(since="2026-11-01T07:59:00+01:00", until="2026-11-02")
    assert query.since == datetime(2026, 11, 1, 6, tzinfo=UTC)
    assert query.until == datetime(2026, 11, 2, tzinfo=UTC)
    assert query.hours.end - query.hours.start == 18


def test_the_hour_that_runs_is_in_a_report_up_to_now() -> None:
    query = parsed(since="30d")
    assert query.until == datetime(2026, 11, 27, 11, tzinfo=UTC)
    assert query.since == datetime(2026, 10, 28, 10, tzinfo=UTC)


def test_dimensions_keep_their_order_and_come_once() -> None:
    by = parsed(by="type, queue,type").by
    assert by == (Dimension.TYPE, Dimension.QUEUE)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"since": "yesteryear"}, "since: 'yesteryear' is no time"),
        ({"since": "0d"}, "since: '0d' is no time"),
        ({"since": "999999w"}, "since: '999999w' is no time"),
        ({"until": "9999-12-31"}, "until: is not in 1970 to 2200"),
        ({"since": "2026-11-28"}, "is not after since"),
        ({"since": "2000-01-01"}, "since: is more than"),
        ({"by": "colour"}, "by: there is no 'colour': use some of queue,"),
        ({"by": "hour,day"}, "by: names several of hour, day and month"),
        ({"by": "'; DROP TABLE hours"}, "by: there is no"),
    ],
)
def test_what_is_wrong_with_a_query_is_said(fields: dict[str, str], error: str) -> None:
    with pytest.raises(UnusableQuery) as raised:
        parsed(**fields)
    assert error in str(raised.value)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("today", "2026-11-27", "2026-11-27T10:30"),
        ("yesterday", "2026-11-26", "2026-11-27"),
        ("week", "2026-11-22", "2026-11-27T10:30"),
        ("lastweek", "2026-11-15", "2026-11-22"),
        ("month", "2026-11-01", "2026-11-27T10:30"),
        ("lastmonth", "2026-10-01", "2026-11-01"),
        ("7d", "2026-11-20T10:30", "2026-11-27T10:30"),
        ("2026-11-01T00:00:00Z,2026-11-02T00:00:00Z", "2026-11-01", "2026-11-02"),
        ("1793491200,1793577600", "2026-11-01", "2026-11-02"),
    ],
)
def test_windows_are_those_of_opencost(text: str, start: str, end: str) -> None:
    begins, ends = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (start, end))
    assert window(text, NOW) == (begins, ends)


def test_steps_divide_a_window() -> None:
    found = queries(OpenCostFields("3d", step="1d"), NOW, Sight())
    assert len(found) == 3
    assert {each.until - each.since for each in found} == {timedelta(days=1, hours=1)}


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        (OpenCostFields("3d", step="5m"), "step: must be whole hours"),
        (OpenCostFields("3d", step="x"), "step: must be whole hours"),
        (OpenCostFields("52w", step="1h"), "step: makes more than"),
        (OpenCostFields("3d", aggregate="day"), "aggregate: must name what is charged"),
        (OpenCostFields("3d", aggregate=""), "aggregate: must name what is charged"),
        (OpenCostFields("fortnight"), "window: 'fortnight' is no time"),
        (OpenCostFields("1,"), "window: '' is no time"),
    ],
)
def test_what_is_wrong_with_a_window_is_said(fields: OpenCostFields, error: str) -> None:
    with pytest.raises(UnusableQuery) as raised:
        queries(fields, NOW, Sight())
    assert error in str(raised.value)
