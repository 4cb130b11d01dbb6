"""Whatever Prometheus answers, a load is a number that there can be, or it is not known."""

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.errors import PrometheusUnusable
from plimsoll.observe.measured.demand import BucketDemand, Unserved
from plimsoll.observe.measured.sample import NoResult, Outcome, Query, QueryResult
from plimsoll.signals.load.foresight.accounts import Serving
from plimsoll.signals.load.foresight.aim import LEAST_ALLOWED, Aim
from plimsoll.signals.load.foresight.load_forecast import LoadForecast, Outlook
from plimsoll.signals.load.foresight.series import step_of
from plimsoll.signals.load.job_reading import job_reading
from plimsoll.signals.load.load_reading import LoadResults
from plimsoll.signals.load.queries import MOST, default_queries, own_queries
from plimsoll.signals.load.role_pods import RolePods
from plimsoll.signals.load.servers.known import METRICS
from plimsoll.signals.load.servers.terms import Measure, Scope
from plimsoll.signals.prometheus.decoding import query_result
from support.clusters.seen import NOW
from support.objects.load_results import WINDOW, a_service, pods_of_role

AIM = Aim(None, 0.01, 10)
ROLES = ("server", "prefill", "decode")
MEASUREMENTS = ("Load", "Backlog", "Waiting", "Running", "Attainment", "Latency")

odd_numbers = st.sampled_from(["NaN", "+Inf", "-Inf", "-1", "0", "1e-320", "1e308", "1e15", "x"])
numbers = st.one_of(odd_numbers, st.floats(0, 1e6).map(repr), st.floats().map(repr))
measures = st.sampled_from([*Measure, "Latency/0", "TimeToFirstToken/0", "", "?"])
pods = st.sampled_from([f"chat-{role}-{n}" for role in ROLES for n in range(3)] + ["", "x"])
labels = st.fixed_dictionaries(
    {},
    optional={
        "measure": measures,
        "pod": pods,
        "bucket": st.sampled_from(["any", "short", "", "b" * 70]),
        "le": st.sampled_from(["0.1", "1", "+Inf", "-1", "much"]),
    },
)
ages = st.sampled_from([0.0, 1.0, 600.0])


def a_series(named: dict[str, str], number: str, age: float) -> dict[str, Any]:
    return {"metric": named, "value": [NOW.timestamp() - age, number]}


no_vectors: list[Any] = [None, {}, [], [1, "2"], [{"metric": {}}]]
results: st.SearchStrategy[Any] = st.one_of(
    st.lists(st.builds(a_series, labels, numbers, ages), max_size=12), st.sampled_from(no_vectors)
)


def served_by(server: str, gateway: str | None) -> dict[str, Any]:
    """How a load is measured."""
    return {"server": server, **({"gateway": {"type": gateway}} if gateway else {})}


servers = st.builds(
    served_by,
    st.sampled_from(sorted(METRICS)),
    st.sampled_from([None, "InferencePool", "Envoy", "Istio", "NGINX"]),
)


def as_asked(result: object, query: Query) -> QueryResult | NoResult:
    """What the room's edge makes of a result."""
    try:
        return query_result(result, query, now=NOW)
    except PrometheusUnusable as error:
        return NoResult(Outcome.UNUSABLE, str(error))


def is_load(load: float) -> bool:
    return math.isfinite(load) and load >= 0


def is_sound(demand: BucketDemand) -> bool:
    finite = (demand.observed, demand.foreseen, demand.worth, demand.least_of_late)
    return all(map(is_load, finite)) and demand.most_of_late >= demand.worth >= demand.observed


@given(
    servers,
    st.lists(results, min_size=8, max_size=8),
    st.sets(st.sampled_from(MEASUREMENTS)),
    st.lists(st.integers(0, 3), min_size=3, max_size=3),
    st.sampled_from([None, timedelta(), timedelta(hours=1)]),
)
def test_no_answer_makes_a_load_that_cannot_be(
    server: dict[str, Any],
    given_results: list[Any],
    own: set[str],
    ready: Sequence[int],
    left: timedelta | None,
) -> None:
    load: dict[str, Any] = {
        **server,
        "queries": [{"name": name, "query": "x"} for name in sorted(own)],
    }
    if left is not None:
        load["deadline"] = (NOW + left).isoformat()
    job = a_service(*ROLES, load=load, slo={"timeToFirstToken": "1s", "latency": "2s"})
    found = iter(given_results * 10)
    known: dict[str, RolePods] = {
        role: pods_of_role(job, role, count) for role, count in zip(ROLES, ready, strict=True)
    }
    results = LoadResults(
        job,
        [as_asked(next(found), query) for query in default_queries(job, Scope(120))],
        [(each, as_asked(next(found), each.query)) for each in own_queries(job)],
        known,
        WINDOW,
        60,
        NOW,
    )
    reading = job_reading(results)
    assert {*reading.loads, *reading.unknown} == {*ROLES}
    assert not {*reading.loads} & {*reading.unknown}
    assert all(gap.message for gap in reading.unknown.values())
    assert reading.attainment_percent is None or 0 <= reading.attainment_percent <= 100
    numbers = [*reading.latencies.values(), *reading.running_requests.values()]
    assert all(map(is_load, numbers))
    foresight, outlook = LoadForecast(gap=WINDOW), Outlook.of(job, AIM, None)
    for role, loads in reading.loads.items():
        for bucket, value in loads.items():
            assert is_load(value)
            assert is_sound(foresight.demand(("u", role, bucket), value, outlook, NOW))


odd_loads = st.sampled_from([0.0, 5e-324, 1e-9, 1.0, 100.0, MOST])
past_loads = st.lists(st.one_of(st.none(), odd_loads, st.floats(0, MOST)), max_size=60)


odd_aims = st.builds(
    Aim,
    st.sampled_from([None, 0.1, 0.999]),
    st.floats(LEAST_ALLOWED, 1),
    st.sampled_from([0.0, 1e-9, 10.0, MOST]),
)
servings = st.builds(
    Serving,
    st.one_of(st.none(), odd_loads),
    st.one_of(st.none(), st.builds(Unserved, st.floats(0, 1), odd_loads, odd_loads)),
)


@given(past_loads, past_loads, odd_aims, servings)
def test_no_history_makes_a_forecast_that_cannot_be(
    past: list[float | None], seen: list[float | None], aim: Aim, serving: Serving
) -> None:
    foresight, outlook = LoadForecast(gap=WINDOW), Outlook.of(a_service(), aim, None)
    foresight.allow_learning(3600)
    first = step_of(NOW) - len(past)
    steps = {first + n: load for n, load in enumerate(past) if load is not None}
    foresight.fill(("u", "server", "any"), steps)
    for place, load in enumerate(seen):
        if load is not None:
            at = NOW + place * timedelta(seconds=50)
            key = ("u", "server", "any")
            assert is_sound(foresight.demand(key, load, outlook, at, serving))
