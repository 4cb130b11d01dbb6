"""A real Prometheus scrapes what the engines' exporters write, and services are measured by it."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from plimsoll.api.parts.roles import ANY_SIZE
from plimsoll.signals.load.job_reading import JobReading
from plimsoll.signals.load.queries import past_query
from plimsoll_devcluster.processes.prometheus_server import PrometheusServer, Scraped
from plimsoll_devcluster.waiting import wait_until
from support.objects.load_results import a_service
from support.servers.recorded_exporter import RecordedExporter, recorded_exporter
from support.servers.scraped_load import DRAIN_SECONDS, SCOPE, reading_of, until_scraped

PROMISED = {"timeToFirstToken": "500ms", "timePerOutputToken": "50ms", "latency": "10s"}
ENGINES = {
    "vllm": "VLLM",
    "vllm_0_6": "VLLM",
    "sglang": "SGLang",
    "tensorrt_llm": "TensorRTLLM",
    "tgi": "TGI",
    "llama_cpp": "LlamaCpp",
    "triton": "Triton",
    "dynamo_worker": "Dynamo",
    "dynamo_frontend": "Dynamo",
    "ray_serve": "RayServe",
}
GATEWAYS = {
    "istio": "Istio",
    "envoy": "Envoy",
    "ingress_nginx": "NGINX",
    "endpoint_picker": "InferencePool",
}
OWN = {*ENGINES, "endpoint_picker"}
"""What runs in the namespace of the service, and not in one for the whole cluster."""


@pytest.fixture(scope="module")
def exporters() -> Iterator[dict[str, RecordedExporter]]:
    """All exporters by the name of their recording."""
    with ExitStack() as stack:
        names = (*ENGINES, *GATEWAYS)
        yield {
            name: stack.enter_context(recorded_exporter(name, namespace="team")) for name in names
        }


@pytest.fixture(scope="module")
def prometheus(
    prometheus_program: Path, exporters: dict[str, RecordedExporter]
) -> Iterator[PrometheusServer]:
    """A Prometheus that has scraped all exporters for longer than a look reaches back."""
    with ExitStack() as stack:
        targets: list[Scraped] = []
        for name, exporter in exporters.items():
            pod = f"{job_name(name)}-server-0" if name in ENGINES else f"{job_name(name)}-0"
            namespace = "team" if name in OWN else "ingress"
            service = {"service": "metrics"}
            labels = {"namespace": namespace, "pod": pod, **service}
            targets.append(Scraped(exporter.address, labels))
        server = stack.enter_context(PrometheusServer(prometheus_program, targets))
        until_scraped(server, len(targets))
        yield server


def job_name(recorded: str) -> str:
    return recorded.replace("_", "-")


def read(
    prometheus: PrometheusServer,
    recorded: str,
    *roles: str,
    ready: int = 1,
    least: int = 1,
    **load: Any,  # noqa: ANN401 - fields of a load
) -> JobReading:
    """What is read of a service whose pods an exporter of this recording stands for."""
    load = {"server": ENGINES.get(recorded, "VLLM"), **load}
    job = a_service(
        *(roles or ("server",)), name=job_name(recorded), least=least, load=load, slo=PROMISED
    )
    return reading_of(job, prometheus, ready=ready)


class Now(NamedTuple):
    """What the replica behind a recording does."""

    served: float
    waiting: float
    running: float
    kv_cache: float | None = None


@pytest.mark.parametrize(
    ("recorded", "now"),
    [
        ("vllm", Now(served=30, waiting=2, running=8, kv_cache=0.4)),
        ("vllm_0_6", Now(served=12, waiting=1, running=4, kv_cache=0.9)),
        ("sglang", Now(served=40, waiting=3, running=7, kv_cache=0.62)),
        ("tensorrt_llm", Now(served=20, waiting=4, running=6, kv_cache=0.62)),
        ("tgi", Now(served=8, waiting=6, running=16)),
        ("triton", Now(served=19, waiting=3, running=7, kv_cache=0.4)),
        ("dynamo_worker", Now(served=30, waiting=0, running=0, kv_cache=0)),
        ("dynamo_frontend", Now(served=30, waiting=0, running=0)),
        ("ray_serve", Now(served=36, waiting=1, running=5)),
    ],
)
def test_requests_running_and_waiting_are_read_of_each_engine(
    prometheus: PrometheusServer, recorded: str, now: Now
) -> None:
    reading = read(prometheus, recorded)
    load = reading.loads["server"][ANY_SIZE]
    assert load == pytest.approx(now.served + now.waiting / DRAIN_SECONDS, rel=0.1)
    [requests] = reading.running_requests.values()
    assert requests == pytest.approx(now.running + now.waiting)
    assert reading.kv_cache_used.get("server") == (now.kv_cache and pytest.approx(now.kv_cache))


@pytest.mark.parametrize(
    ("recorded", "attained", "latencies"),
    [
        ("vllm", 80, {"TimeToFirstToken": 0.95, "TimePerOutputToken": 0.0975}),
        ("vllm_0_6", 75, {"TimePerOutputToken": 0.098}),
        ("sglang", 75, {"TimeToFirstToken": 1.96, "TimePerOutputToken": 0.18, "Latency": 3.8}),
        ("tensorrt_llm", 95, {"TimeToFirstToken": 0.5, "Latency": 9.9}),
        ("tgi", 81.25, {"TimePerOutputToken": 0.0469, "Latency": 15.68}),
        ("triton", 50, {"TimeToFirstToken": 1.97}),
        ("ray_serve", 100, {"Latency": 1.955}),
    ],
)
def test_latencies_are_read_in_seconds_whatever_an_engine_counts_in(
    prometheus: PrometheusServer, recorded: str, attained: float, latencies: dict[str, float]
) -> None:
    reading = read(prometheus, recorded)
    assert reading.attainment_percent == pytest.approx(attained, abs=0.5)
    assert reading.latencies == {
        name: pytest.approx(seconds, rel=0.05) for name, seconds in latencies.items()
    }


@pytest.mark.parametrize(
    ("recorded", "prompts", "generated"),
    [
        ("vllm", 6000, 3000),
        ("sglang", 8000, 2000),
        ("tensorrt_llm", 4000, 2000),
        ("tgi", 1800, 800),
    ],
)
def test_prefill_and_decode_are_measured_in_tokens(
    prometheus: PrometheusServer, recorded: str, prompts: float, generated: float
) -> None:
    name = job_name(recorded)
    for role, tokens in (("prefill", prompts), ("decode", generated)):
        job = a_service(role, name=name, load={"server": ENGINES[recorded]})
        # The exporters stand for a pod of the role `server`.
        query = past_query(job, job.spec.roles[0], SCOPE)
        asked = query.promql.replace(f"{role}-[0-9]+", "server-[0-9]+")
        [served] = prometheus.ask("query", query=asked)["result"]
        assert float(served["value"][1]) == pytest.approx(tokens, rel=0.1)


def test_llama_cpp_counts_tokens_and_those_that_wait_want_as_many(
    prometheus: PrometheusServer,
) -> None:
    load = read(prometheus, "llama_cpp").loads["server"][ANY_SIZE]
    assert load == pytest.approx(200 * (4 + 2) / 4, rel=0.1)


@pytest.mark.parametrize(
    ("recorded", "server", "said"),
    [
        ("sglang", "VLLM", "knows no vLLM metrics of 1 of the 1 ready replicas"),
        ("sglang", "VLLM", "it has SGLang's: set spec.load.server: SGLang"),
        ("vllm_0_6", "SGLang", "it has vLLM's: set spec.load.server: VLLM"),
        ("ray_serve", "HTTP", "it has Ray Serve's: set spec.load.server: RayServe"),
        ("dynamo_frontend", "VLLM", "it has Dynamo's: set spec.load.server: Dynamo"),
        ("tensorrt_llm", "Gateway", "set spec.load.server: TensorRTLLM"),
    ],
)
def test_who_names_the_wrong_server_is_told_the_right_one(
    prometheus: PrometheusServer, recorded: str, server: str, said: str
) -> None:
    assert said in read(prometheus, recorded, server=server).unknown["server"].message


@pytest.mark.parametrize(
    ("recorded", "turned_away", "waiting"),
    [("istio", 6, 0), ("envoy", 8, 31), ("ingress_nginx", 6, 0), ("endpoint_picker", 5, 5)],
)
def test_requests_that_find_no_replica_at_the_gateway_wake_a_service(
    prometheus: PrometheusServer, recorded: str, turned_away: float, waiting: float
) -> None:
    gateway = {"type": GATEWAYS[recorded], "name": "chat"}
    asleep = read(prometheus, recorded, ready=0, least=0, gateway=gateway)
    load = asleep.loads["server"][ANY_SIZE]
    assert load == pytest.approx(turned_away + waiting / DRAIN_SECONDS, rel=0.1)
    nobody = read(prometheus, recorded, ready=0, least=0, gateway={**gateway, "name": "nobody"})
    assert "no requests for nobody" in nobody.unknown["server"].message


def test_what_one_pools_endpoint_picker_refuses_is_no_load_of_another_pool(
    prometheus: PrometheusServer, exporters: dict[str, RecordedExporter]
) -> None:
    gateway = {"type": "InferencePool", "name": "other"}
    exporters["vllm"].more = 'inference_pool_ready_pods{name="other"} 0\n'

    def loads() -> Mapping[str, Any]:
        return read(prometheus, "endpoint_picker", ready=0, least=0, gateway=gateway).loads

    wait_until(loads, timeout_seconds=60, what="its picker is scraped")
    assert loads()["server"][ANY_SIZE] == 0


def test_what_a_gateway_turns_away_is_load_beside_what_replicas_serve(
    prometheus: PrometheusServer,
) -> None:
    with_gateway = read(prometheus, "vllm", gateway={"type": "Istio", "name": "chat"})
    assert with_gateway.loads["server"][ANY_SIZE] == pytest.approx(30 + 6, rel=0.1)


OF_ISTIO = 'destination_service_name="quiet",destination_service_namespace="team"'
OF_ENVOY = {
    "upstream_cx_none_healthy": 0,
    "upstream_rq_pending_overflow": 0,
    "upstream_rq_pending_active": 0,
    "upstream_rq_pending_failure_eject": 9,
    "upstream_rq_retry": 7,
}
FIRST_SERIES = {
    "istio": f'istio_requests_total{{{OF_ISTIO},response_flags="UH",response_code="503"}} 1\n',
    "envoy": "".join(
        f'envoy_cluster_{name}{{envoy_cluster_name="team/quiet/80"}} {value}\n'
        for name, value in OF_ENVOY.items()
    ),
}


@pytest.mark.parametrize(
    ("recorded", "found"),
    [
        ("istio", 1 / SCOPE.window_seconds),
        ("envoy", 2 / SCOPE.window_seconds + 1 / DRAIN_SECONDS),
    ],
    ids=["istio", "envoy"],
)
def test_the_first_request_that_is_turned_away_wakes_a_service_though_its_series_is_new(
    prometheus: PrometheusServer,
    exporters: dict[str, RecordedExporter],
    recorded: str,
    found: float,
) -> None:
    gateway = {"type": GATEWAYS[recorded], "name": "quiet"}
    assert not read(prometheus, recorded, ready=0, least=0, gateway=gateway).loads
    exporters[recorded].more = FIRST_SERIES[recorded]

    def load() -> float:
        loads = read(prometheus, recorded, ready=0, least=0, gateway=gateway).loads
        return loads["server"][ANY_SIZE] if loads else 0.0

    wait_until(lambda: load() > 0, timeout_seconds=60, what="it is counted")
    assert load() == pytest.approx(found)
    # A counter that stands still is no load for longer than a look reaches back.
    wait_until(lambda: load() == 0, timeout_seconds=60, what="it is past")


def test_a_gateway_that_was_not_scraped_before_has_not_counted_all_of_late(
    prometheus_program: Path, exporters: dict[str, RecordedExporter]
) -> None:
    target = Scraped(exporters["ingress_nginx"].address, {"namespace": "ingress", "service": "m"})
    with PrometheusServer(prometheus_program, [target]) as new:
        wait_until(
            lambda: new.ask("query", query="nginx_ingress_controller_requests")["result"],
            timeout_seconds=60,
            what="the gateway is scraped",
        )
        gateway = {"type": "NGINX", "name": "chat"}
        reading = read(new, "ingress_nginx", ready=0, least=0, gateway=gateway)
        # Its counter has counted for as long as this module runs, which is no load of this moment.
        assert reading.loads["server"][ANY_SIZE] < 10
