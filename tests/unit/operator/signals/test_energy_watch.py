import json
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from plimsoll.signals.energy_watch import EnergyWatch
from plimsoll.signals.prometheus.connection import ConnectionTerms
from plimsoll.signals.prometheus.prometheus import Prometheus
from support.clusters.seen import seen
from support.objects.job_manifests import a_policy
from support.programs.asynchronous import asynchronous
from support.servers.misbehaving_prometheus import misbehaving_prometheus

WITH_SIGNAL = seen(a_policy(objective={"energySignal": {"query": "grid", "usual": 400}}))


def says(*values: str) -> bytes:
    """An answer with so many series."""
    now = datetime.now(UTC).timestamp()
    result = [{"metric": {"zone": value}, "value": [now, value]} for value in values]
    return json.dumps({"data": {"result": result}}).encode()


@pytest.mark.parametrize("value", [612.5, 0, -40])
@asynchronous
async def test_what_the_policys_query_gives_is_how_much_energy_matters(value: float) -> None:
    with misbehaving_prometheus() as behaviour:
        behaviour.body = says(str(value))
        prometheus = Prometheus(ConnectionTerms(behaviour.url))
        watch = EnergyWatch(prometheus, lambda: WITH_SIGNAL, seconds=30)
        now = datetime.now(UTC)
        assert watch.current(now).problem == "not measured yet"
        await watch.look(now)
        prometheus.close()
    assert [parse_qs(urlsplit(path).query)["query"] for path in behaviour.paths] == [["grid"]]
    found = watch.current(now + timedelta(seconds=90))
    assert (found.query, found.value, found.problem) == ("grid", value, "")
    late = watch.current(now + timedelta(seconds=91))
    assert (late.value, late.problem) == (None, "Prometheus has not answered for 90 s")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ((), "energySignal gives 0 series instead of one"),
        (("1", "2"), "energySignal gives 2 series instead of one"),
        (("NaN",), "energySignal gives what cannot be: NaN"),
        (("+Inf",), "energySignal gives what cannot be: Infinite"),
        (("1e10",), "energySignal gives what cannot be: Absurd"),
    ],
)
@asynchronous
async def test_what_cannot_be_used_is_reported_and_not_used(
    values: tuple[str, ...], problem: str
) -> None:
    with misbehaving_prometheus() as behaviour:
        behaviour.body = says(*values)
        prometheus = Prometheus(ConnectionTerms(behaviour.url))
        watch = EnergyWatch(prometheus, lambda: WITH_SIGNAL, seconds=30)
        now = datetime.now(UTC)
        await watch.look(now)
        found = watch.current(now)
        assert (found.value, found.problem) == (None, problem)
        behaviour.status = 503
        await watch.look(now)
        prometheus.close()
    assert watch.current(now).problem.startswith("Prometheus gives no answer to energySignal: ")


@pytest.mark.parametrize("snapshot", [None, seen(), seen(a_policy())])
@asynchronous
async def test_without_a_signal_nothing_is_asked(snapshot: object) -> None:
    assert snapshot is None or isinstance(snapshot, type(WITH_SIGNAL))
    with misbehaving_prometheus() as behaviour:
        prometheus = Prometheus(ConnectionTerms(behaviour.url))
        watch = EnergyWatch(prometheus, lambda: snapshot, seconds=30)
        await watch.look(datetime.now(UTC))
        prometheus.close()
        assert behaviour.paths == []
