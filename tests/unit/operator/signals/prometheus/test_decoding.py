import math
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from plimsoll.errors import PrometheusUnusable
from plimsoll.observe.measured.sample import Flaw, FlawedSample, Query, Sample
from plimsoll.signals.prometheus.decoding import query_result

AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
QUERY = Query("test", "x", least=0, most=1000)


def vector(*values: str, at: datetime = AT) -> list[object]:
    return [{"metric": {"n": f"{n}"}, "value": [at.timestamp(), v]} for n, v in enumerate(values)]


def test_a_vector_becomes_samples() -> None:
    found = query_result(vector("1.5", "0"), QUERY, now=AT)
    assert found.samples == (Sample({"n": "0"}, 1.5, AT), Sample({"n": "1"}, 0, AT))
    assert found.flawed == ()


def test_a_matrix_becomes_the_samples_of_each_series_in_the_order_of_time() -> None:
    second = AT.timestamp()
    series = {"metric": {"a": "b"}, "values": [[second, "1"], [second + 0.5, "2"]]}
    later = AT + timedelta(milliseconds=500)
    expected = (Sample({"a": "b"}, 1, AT), Sample({"a": "b"}, 2, later))
    assert query_result([series], QUERY).samples == expected


@pytest.mark.parametrize(
    ("value", "flaw"),
    [
        ("NaN", Flaw.NAN),
        ("+Inf", Flaw.INFINITE),
        ("-Inf", Flaw.INFINITE),
        ("1e300", Flaw.ABSURD),
        ("-1", Flaw.ABSURD),
    ],
)
def test_a_value_that_says_nothing_is_told_apart(value: str, flaw: Flaw) -> None:
    found = query_result(vector(value, "7"), QUERY, now=AT)
    assert found.flawed == (FlawedSample({"n": "0"}, flaw, AT),)
    assert [sample.value for sample in found.samples] == [7]


def test_what_was_reported_long_ago_is_stale() -> None:
    old, just_in_time = AT - timedelta(seconds=301), AT - timedelta(seconds=300)
    [flawed] = query_result(vector("1", at=old), QUERY, now=AT).flawed
    assert flawed.flaw == Flaw.STALE
    assert query_result(vector("1", at=just_in_time), QUERY, now=AT).flawed == ()


def test_a_range_query_is_about_the_past() -> None:
    assert query_result(vector("1", at=AT - timedelta(days=1)), QUERY).flawed == ()


@pytest.mark.parametrize(
    "result",
    [
        [1_763_726_400.0, "1"],
        "text",
        None,
        {},
        [{"metric": {}}, 3],
    ],
)
def test_what_is_no_vector_is_unusable(result: object) -> None:
    with pytest.raises(PrometheusUnusable):
        query_result(result, QUERY)


def test_a_vector_may_be_empty() -> None:
    assert query_result([], QUERY).samples == ()


MALFORMED: dict[str, Any] = {
    "a value that is no number": {"metric": {"n": "odd"}, "value": [1.0, "many"]},
    "a value of 5,000 letters": {"metric": {"n": "odd"}, "value": [1.0, "x" * 5000]},
    "a number that is no text": {"metric": {"n": "odd"}, "value": [1.0, 7]},
    "a time beyond all times": {"metric": {"n": "odd"}, "value": [1e300, "1"]},
    "no time": {"metric": {"n": "odd"}, "value": ["1", "1"]},
    "a time that is no number": {"metric": {"n": "odd"}, "value": [math.nan, "1"]},
    "a point of one": {"metric": {"n": "odd"}, "value": [1.0]},
    "labels that are no texts": {"metric": {"n": 7}, "value": [1.0, "1"]},
    "labels that are none": {"metric": "odd", "value": [1.0, "1"]},
    "no labels": {"value": [1.0, "1"]},
    "a part of a matrix": {"metric": {"n": "odd"}, "values": [[1.0, "many"]]},
}


@pytest.mark.parametrize("odd", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_series_that_is_none_costs_no_other(odd: object) -> None:
    first, last = vector("1", "2")
    found = query_result([first, odd, last], QUERY, now=AT)
    assert [sample.value for sample in found.samples] == [1, 2]
    assert [flawed.flaw for flawed in found.flawed] == [Flaw.MALFORMED]


def test_a_point_that_is_none_costs_no_other_of_its_series() -> None:
    points = [[AT.timestamp(), "1"], [1e300, "2"], "odd", [AT.timestamp(), "3"]]
    found = query_result([{"metric": {"n": "0"}, "values": points}], QUERY)
    assert [sample.value for sample in found.samples] == [1, 3]
    assert len(found.flawed) == 2


@pytest.mark.parametrize("value", ["1e308", "-1e308", "1e400", "9" * 5000, "nan", "-inf"])
def test_no_value_is_too_large_to_be_told_apart(value: str) -> None:
    found = query_result(vector(value, "7"), QUERY, now=AT)
    assert [sample.value for sample in found.samples] == [7]
    assert len(found.flawed) == 1


def test_series_that_come_twice_are_reported_twice() -> None:
    twice = [{"metric": {"n": "0"}, "value": [AT.timestamp(), "1"]}] * 2
    assert len(query_result(twice, QUERY, now=AT).samples) == 2


@pytest.mark.slow
def test_a_hundred_thousand_odd_series_are_read_in_a_moment() -> None:
    odd = [MALFORMED["labels that are no texts"]] * 100_000
    begun = time.process_time()
    assert len(query_result(odd, QUERY).flawed) == 100_000
    assert time.process_time() - begun < 5
