import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import pytest
from prometheus_client import REGISTRY

from plimsoll.observe.measured.gpu_faults import faulty_nodes
from plimsoll.signals.exporters import Exporters
from plimsoll.signals.fault_watch import FaultWatch
from plimsoll.signals.prometheus.connection import ConnectionTerms
from plimsoll.signals.prometheus.prometheus import Prometheus
from support.programs.asynchronous import asynchronous
from support.servers.misbehaving_prometheus import Behaviour, misbehaving_prometheus

GPU = {"__name__": "DCGM_FI_DEV_XID_ERRORS", "job": "gpu", "instance": "n-1:1", "UUID": "GPU-1"}


@pytest.fixture
def behaviour() -> Iterator[Behaviour]:
    with misbehaving_prometheus() as behaviour:
        behaviour.body_of = breaking
        yield behaviour


def asked(path: str) -> Mapping[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}


def series(labels: Mapping[str, str], value: str, *times: float) -> dict[str, object]:
    return {"metric": labels, "values": [[time, value] for time in times]}


def one() -> bytes:
    now = datetime.now(UTC).timestamp()
    return json.dumps({"data": {"result": [{"metric": {}, "value": [now, "1"]}]}}).encode()


def breaking(path: str) -> bytes:
    """What a Prometheus says that knows one GPU, which has just broken."""
    found = asked(path)
    if "start" not in found:
        return one()
    end, step = float(found["end"]), float(found["step"])
    errors = [series(GPU, "79", end)]
    scrapes = [series(GPU, "1", end - step, end)]
    result = scrapes if found["query"].startswith("up") else errors
    return json.dumps({"data": {"result": result}}).encode()


def healthy(path: str) -> bytes:
    return b'{"data": {"result": []}}' if "start" in asked(path) else one()


@asynchronous
async def test_what_broke_is_kept_until_prometheus_says_otherwise(behaviour: Behaviour) -> None:
    news: list[str] = []
    now = datetime.now(UTC)
    prometheus = Prometheus(ConnectionTerms(behaviour.url))
    watch = FaultWatch(prometheus, lambda: news.append("changed"), seconds=30)
    await watch.look(now)
    assert [fault.xid for fault in watch.current()] == [79]
    await watch.look(now)
    assert news == ["changed"]
    assert REGISTRY.get_sample_value("plimsoll_faulty_gpus") == 1
    assert REGISTRY.get_sample_value("plimsoll_watched_gpus") == 1
    behaviour.status = 503
    await watch.look(now)
    assert [fault.xid for fault in watch.current()] == [79]
    behaviour.status, behaviour.body_of = 200, healthy
    await watch.look(now)
    assert watch.current() == ()
    assert news == ["changed"] * 2
    prometheus.close()


@asynchronous
async def test_odd_series_of_one_exporter_hide_no_fault_of_another(behaviour: Behaviour) -> None:
    def odd(path: str) -> bytes:
        found = json.loads(breaking(path))["data"]["result"]
        of_late = {"__name__": "DCGM_EXP_XID_ERRORS_COUNT", "job": "x" * 5000}
        now = datetime.now(UTC).timestamp()
        found += [
            series({**of_late, "xid": "7" * 5000}, "1", now),
            series({**of_late, "xid": "79"}, "1", now),
            series({**GPU, "UUID": "GPU-2"}, "1e308", now),
            {"metric": {"job": 7}, "values": [[now, "79"]]},
            {"metric": GPU, "values": "all"},
        ]
        return json.dumps({"data": {"result": found}}).encode()

    behaviour.body_of = odd
    prometheus = Prometheus(ConnectionTerms(behaviour.url))
    watch = FaultWatch(prometheus, lambda: None, seconds=30)
    await watch.look(datetime.now(UTC))
    assert [(fault.xid, fault.labels["UUID"]) for fault in watch.current()] == [(79, "GPU-1")]
    assert "xxxx" not in "".join(behaviour.paths), "no query has room for such a name"
    prometheus.close()


@pytest.mark.parametrize("body", [b"[" * 100_000, b"9" * 100_000, b"\xff", b"null", b"{}"])
@asynchronous
async def test_an_answer_that_is_none_changes_nothing_that_was_known(
    behaviour: Behaviour, body: bytes
) -> None:
    prometheus = Prometheus(ConnectionTerms(behaviour.url))
    watch = FaultWatch(prometheus, lambda: None, seconds=30)
    await watch.look(datetime.now(UTC))
    behaviour.body_of, behaviour.body = None, body
    await watch.look(datetime.now(UTC))
    assert [fault.xid for fault in watch.current()] == [79]
    prometheus.close()


@asynchronous
async def test_only_series_of_this_cluster_are_asked_for(behaviour: Behaviour) -> None:
    here = Exporters(cluster='cluster="a"')
    prometheus = Prometheus(ConnectionTerms(behaviour.url))
    watch = FaultWatch(prometheus, lambda: None, seconds=30, exporters=here)
    await watch.look(datetime.now(UTC))
    prometheus.close()
    queries = [asked(path)["query"] for path in behaviour.paths]
    assert len(queries) == 3
    assert all(', cluster="a"}' in query for query in queries)


@asynchronous
async def test_only_exporters_that_were_named_are_asked_for(behaviour: Behaviour) -> None:
    named = Exporters(("gpu-operator", "monitoring"), ("dcgm.exporter",), cluster='cluster="a"')
    prometheus = Prometheus(ConnectionTerms(behaviour.url))
    watch = FaultWatch(prometheus, lambda: None, seconds=30, exporters=named)
    await watch.look(datetime.now(UTC))
    prometheus.close()
    queries = [asked(path)["query"] for path in behaviour.paths]
    wanted = 'cluster="a", namespace=~"gpu-operator|monitoring", job=~"dcgm[.]exporter"}'
    assert len(queries) == 3
    assert all(wanted in query for query in queries)


@asynchronous
async def test_a_gpu_is_on_the_node_of_the_pod_that_was_scraped(behaviour: Behaviour) -> None:
    behaviour.body_of = accusing
    nodes = {"exporter-a": "n-1", "exporter-b": "without GPUs"}
    named = Exporters(("gpu-operator",), node_of=lambda _, pod: nodes.get(pod))
    prometheus = Prometheus(ConnectionTerms(behaviour.url))
    watch = FaultWatch(prometheus, lambda: None, seconds=30, exporters=named)
    now = datetime.now(UTC)
    await watch.look(now)
    prometheus.close()
    assert len(watch.current()) == 2
    assert list(faulty_nodes(watch.current(), ["n-1", "n-2"], now)) == ["n-1"]


def accusing(path: str) -> bytes:
    """What a Prometheus says of two exporters that both say to be on n-2."""
    found = asked(path)
    if "start" not in found:
        return one()
    end, step = float(found["end"]), float(found["step"])
    gpus = [
        {**GPU, "namespace": "gpu-operator", "pod": pod, "UUID": pod, "Hostname": "n-2"}
        for pod in ("exporter-a", "exporter-b")
    ]
    scrapes = [series(gpus[0], "1", end - step, end)]
    errors = [series(gpu, "79", end) for gpu in gpus]
    result = scrapes if found["query"].startswith("up") else errors
    return json.dumps({"data": {"result": result}}).encode()


@asynchronous
async def test_a_span_of_15_minutes_is_asked_for_at_moments_that_stay(behaviour: Behaviour) -> None:
    behaviour.body_of = healthy
    prometheus = Prometheus(ConnectionTerms(behaviour.url))
    watch = FaultWatch(prometheus, lambda: None, seconds=30)
    for second in (1, 29, 31):
        await watch.look(datetime(2026, 11, 21, 12, 0, second, tzinfo=UTC))
    prometheus.close()
    spans = [asked(path) for path in behaviour.paths if "start" in asked(path)]
    noon = datetime(2026, 11, 21, 12, 0, tzinfo=UTC).timestamp()
    assert [float(span["end"]) - noon for span in spans] == [30, 30, 60]
    assert {float(span["end"]) - float(span["start"]) for span in spans} == {900}
    assert {span["step"] for span in spans} == {"30"}
