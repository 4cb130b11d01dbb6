import math
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import REGISTRY

from plimsoll.observe.measured.sample import NoResult, Outcome, Query, QueryResult, Span
from plimsoll.signals.prometheus.connection import ConnectionTerms
from plimsoll.signals.prometheus.prometheus import THREADS, Prometheus
from support.programs.asynchronous import asynchronous
from support.servers.misbehaving_prometheus import Behaviour, misbehaving_prometheus


@pytest.fixture
def behaviour() -> Iterator[Behaviour]:
    with misbehaving_prometheus() as behaviour:
        yield behaviour


def metric(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"plimsoll_prometheus_{name}", labels) or 0


@asynchronous
async def test_whoever_asks_gets_an_answer_or_none_but_no_error(behaviour: Behaviour) -> None:
    prometheus, query = Prometheus(ConnectionTerms(behaviour.url)), Query("either", "up")
    assert await prometheus.now(query) == QueryResult()
    behaviour.body = b"nonsense"
    unusable = await prometheus.now(query)
    behaviour.status = 401
    refused = await prometheus.now(query)
    assert isinstance(unusable, NoResult)
    assert isinstance(refused, NoResult)
    assert (unusable.outcome, refused.outcome) == (Outcome.UNUSABLE, Outcome.REFUSED)
    prometheus.close()
    for outcome in ("Answered", "Unusable", "Refused"):
        assert metric("queries_total", query="either", outcome=outcome) == 1


@asynchronous
async def test_the_age_of_an_answer_grows_until_the_next_good_one(behaviour: Behaviour) -> None:
    now = [100.0]
    prometheus = Prometheus(ConnectionTerms(behaviour.url), clock=lambda: now[0])
    query = Query("aged", "up")
    assert prometheus.age_seconds("aged") == math.inf
    await prometheus.now(query)
    now[0] += 7
    assert metric("answer_age_seconds", query="aged") == 7
    behaviour.status = 503
    await prometheus.now(query)
    assert metric("answer_age_seconds", query="aged") == 7
    behaviour.status = 200
    await prometheus.now(query)
    assert metric("answer_age_seconds", query="aged") == 0
    prometheus.close()


@asynchronous
async def test_values_that_say_nothing_are_counted(behaviour: Behaviour) -> None:
    behaviour.body = (
        b'{"data": {"result": [{"metric": {}, "value": [1.0, "NaN"]},'
        b' {"metric": {}, "value": [1.0, "9"]}]}}'
    )
    prometheus = Prometheus(ConnectionTerms(behaviour.url))
    span = Span(datetime.now(UTC) - timedelta(minutes=1), datetime.now(UTC), 30)
    found = await prometheus.over(Query("flawed", "up", most=8), span)
    prometheus.close()
    assert isinstance(found, QueryResult)
    assert found.samples == ()
    for flaw in ("NaN", "Absurd"):
        assert metric("flawed_samples_total", query="flawed", flaw=flaw) == 1


@asynchronous
async def test_queries_that_hang_keep_nobody_waiting_for_ever(behaviour: Behaviour) -> None:
    prometheus = Prometheus(ConnectionTerms(behaviour.url, timeout_seconds=0.2))
    behaviour.silent = threading.Event()
    for _ in range(THREADS + 1):
        found = await prometheus.now(Query("hanging", "up"))
        assert isinstance(found, NoResult)
        assert found.outcome == Outcome.UNAVAILABLE
    prometheus.close()
