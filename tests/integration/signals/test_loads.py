"""A real Prometheus scrapes a real exporter of vLLM's metrics, and services follow their load."""

import math
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from plimsoll.signals.load.queries import default_queries, past_query
from plimsoll.signals.load.servers.known import METRICS
from plimsoll.signals.load.servers.terms import Scope
from plimsoll.signals.prometheus.connection import Connection, ConnectionTerms
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.prometheus_server import PrometheusServer
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.programs.prometheus_program import find_prometheus
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene, conditions
from support.objects import load_results
from support.objects.job_manifests import an_inference_job
from support.servers.recorded_exporter import RecordedExporter, recorded_exporter
from support.servers.vllm_exporter import VllmExporter, vllm_exporter

SECONDS = 60


@pytest.fixture(scope="module")
def exporter() -> Iterator[VllmExporter]:
    with vllm_exporter() as exporter:
        yield exporter


@pytest.fixture(scope="module")
def gateway() -> Iterator[RecordedExporter]:
    with recorded_exporter("istio") as exporter:
        yield exporter


@pytest.fixture(scope="module")
def prometheus(exporter: VllmExporter, gateway: RecordedExporter) -> Iterator[PrometheusServer]:
    targets = [exporter.address, gateway.address]
    with PrometheusServer(find_prometheus(os.environ), targets) as server:
        yield server


@pytest.fixture(scope="module")
def operator(control_plane: Cluster, prometheus: PrometheusServer) -> Iterator[OperatorProcess]:
    asking = {
        "PLIMSOLL_PROMETHEUS_URL": prometheus.url,
        "PLIMSOLL_PROMETHEUS_TIMEOUT_SECONDS": "5",
        "PLIMSOLL_LOAD_SECONDS": "1",
        "PLIMSOLL_LOAD_WINDOW_SECONDS": "6",
    }
    with forked_operator(control_plane.kubeconfig, asking) as process:
        yield process
        assert process.stop() == 0


@pytest.fixture
def scene(api: ApiServer, namespace: str, operator: OperatorProcess) -> Scene:
    return Scene(api, namespace, operator)


def a_service(name: str = "chat", *, load: Manifest | None = None, **spec: Any) -> Manifest:  # noqa: ANN401 - fields of a spec
    """A service of up to four replicas, each of which carries ten requests a second."""
    role = {"replicas": {"min": 1, "max": 4}, "drain": "0s"}
    quick = {"down": {"stabilizationWindow": "3s"}}
    load = {"forecast": {"horizon": "3s"}, **(load or {})}
    return an_inference_job(name, loads={H100: 10}, role=role, scaling=quick, load=load, **spec)


def until(condition: Callable[[], object], what: str) -> None:
    wait_until(condition, timeout_seconds=SECONDS, what=what)


def until_seen(scene: Scene, job: Manifest, condition: Callable[[], object], what: str) -> None:
    """Wait until a condition holds; if it does not, report what the job says of itself."""
    try:
        until(condition, what)
    except TimeoutError as error:
        raise TimeoutError(f"{error}; it says {scene.status(job)}") from error


def pod_names(scene: Scene, job: Manifest) -> list[str]:
    return [pod["metadata"]["name"] for pod in scene.pods_of(job)]


def wanted(scene: Scene, job: Manifest) -> float:
    """The load that is wanted of the first role."""
    roles: list[Manifest] = scene.status(job).get("roles", [])
    loads: list[Manifest] = roles[0].get("loads", []) if roles else []
    return sum(float(load["wanted"]) for load in loads) if loads else float("nan")


def problem(scene: Scene, job: Manifest) -> str:
    found = [c for c in scene.status(job).get("conditions", []) if c["type"] == "LoadKnown"]
    return found[0]["message"] if found else ""


def test_a_service_grows_with_what_is_offered_to_it_and_shrinks_again(
    scene: Scene, exporter: VllmExporter
) -> None:
    scene.add_nodes(fake_node("n", gpus=8))
    job = a_service(slo={"timeToFirstToken": "500ms"})
    scene.apply(job)
    [first] = [pod["metadata"]["name"] for pod in scene.running(job).pods]
    exporter.report(scene.namespace, first, rate=25, running=10, fast=0.9)
    until_seen(scene, job, lambda: 28 < wanted(scene, job) < 31, "three replicas are worth it")
    until_seen(scene, job, lambda: len(pod_names(scene, job)) == 3, "three replicas carry it")
    until_seen(
        scene, job, lambda: conditions(scene.status(job)).get("LoadKnown") == "True", "it says so"
    )
    until_seen(
        scene,
        job,
        lambda: float(scene.status(job)["sloAttainmentPercent"]) == 90,
        "promises are counted",
    )
    for name in pod_names(scene, job):
        exporter.report(scene.namespace, name, rate=2, running=1, fast=1)
    until_seen(scene, job, lambda: len(pod_names(scene, job)) == 1, "one replica is enough")


@pytest.mark.slow
def test_a_full_service_grows_though_it_serves_no_more(
    scene: Scene, exporter: VllmExporter
) -> None:
    scene.add_nodes(fake_node("n", gpus=8))
    job = a_service()
    scene.apply(job)
    [first] = [pod["metadata"]["name"] for pod in scene.running(job).pods]
    exporter.report(scene.namespace, first, rate=9, running=16, waiting=450)
    until_seen(scene, job, lambda: len(pod_names(scene, job)) == 3, "those that wait count")


@pytest.mark.slow
def test_what_is_no_number_moves_nothing_and_it_goes_on_when_there_are_numbers_again(
    scene: Scene, exporter: VllmExporter
) -> None:
    scene.add_nodes(fake_node("n", gpus=8))
    job = a_service()
    scene.apply(job)
    [first] = [pod["metadata"]["name"] for pod in scene.running(job).pods]
    exporter.report(scene.namespace, first, rate=15, running=3)
    until_seen(scene, job, lambda: wanted(scene, job) > 14, "the load is found")
    exporter.report(scene.namespace, first, rate=1, running=math.nan)
    said = f"Running of {first} is not a number"
    until_seen(scene, job, lambda: said in problem(scene, job), "it says so")
    held, gaps = wanted(scene, job), "plimsoll_load_gaps_total"
    seen = scene.operator.metric(gaps, gap="Flawed")
    until(lambda: scene.operator.metric(gaps, gap="Flawed") > seen + 5, "it lasts")
    assert (len(pod_names(scene, job)), wanted(scene, job)) == (2, held)

    exporter.report(scene.namespace, first, running=1)
    exporter.report(scene.namespace, pod_names(scene, job)[1], rate=1, running=1)
    until_seen(scene, job, lambda: len(pod_names(scene, job)) == 1, "it goes on")
    assert problem(scene, job) == ""


def test_a_wrong_query_is_named_until_it_is_mended(scene: Scene, exporter: VllmExporter) -> None:
    scene.add_nodes(fake_node("n", gpus=8))
    wrong = {"queries": [{"name": "Load", "query": "sum(rate(vllm_request_success_total[1m])"}]}
    job = a_service(load=wrong)
    scene.apply(job)
    [first] = [pod["metadata"]["name"] for pod in scene.running(job).pods]
    exporter.report(scene.namespace, first, rate=25, running=3)
    said = "the query for Load of role server: Prometheus refuses it: HTTP 400"
    until_seen(scene, job, lambda: said in problem(scene, job), "it says what is wrong")
    assert len(pod_names(scene, job)) == 1

    right = 'vllm_num_requests_running{namespace="$namespace", pod=~"$pods"} * 8'
    scene.edit(job, {"load": {"queries": [{"name": "Load", "query": right}]}})
    until_seen(scene, job, lambda: len(pod_names(scene, job)) == 3, "it is mended")
    until_seen(scene, job, lambda: problem(scene, job) == "", "nothing is wrong now")


@pytest.mark.slow
def test_without_prometheus_replicas_stay_and_with_it_again_they_follow(
    scene: Scene, exporter: VllmExporter, prometheus: PrometheusServer
) -> None:
    scene.add_nodes(fake_node("n", gpus=8))
    job = a_service()
    scene.apply(job)
    [first] = [pod["metadata"]["name"] for pod in scene.running(job).pods]
    exporter.report(scene.namespace, first, rate=15, running=3)
    until_seen(scene, job, lambda: len(pod_names(scene, job)) == 2, "two replicas carry it")
    labels = {"namespace": scene.namespace, "name": "chat", "role": "server"}
    replicas = "plimsoll_service_wanted_replicas"
    until(lambda: scene.operator.metric(replicas, **labels) == 2, "the metric says so")

    prometheus.stop()
    until_seen(
        scene, job, lambda: "Prometheus gives no answer" in problem(scene, job), "it is said"
    )
    assert len(pod_names(scene, job)) == 2
    assert scene.operator.metric("plimsoll_load_gaps_total", gap="NoAnswer") > 0

    prometheus.start()
    exporter.report(scene.namespace, first, rate=35)
    exporter.report(scene.namespace, pod_names(scene, job)[1], rate=1, running=1)
    until_seen(scene, job, lambda: len(pod_names(scene, job)) == 4, "it follows again")
    assert problem(scene, job) == ""
    scene.delete(job)
    until(
        lambda: scene.operator.metric(replicas, **labels) == 0, "of what is gone none is reported"
    )


def test_the_first_request_that_the_gateway_turns_away_wakes_a_service(
    scene: Scene, gateway: RecordedExporter
) -> None:
    scene.add_nodes(fake_node("n", gpus=8))
    job = a_service(load={"gateway": {"type": "Istio"}})
    job["spec"]["roles"][0]["replicas"]["min"] = 0
    scene.apply(job)
    said = "Istio reports no requests for chat"
    until_seen(scene, job, lambda: said in problem(scene, job), "it sleeps and says how to wake it")
    assert pod_names(scene, job) == []
    service = f'destination_service_name="chat",destination_service_namespace="{scene.namespace}"'
    gateway.more = f'istio_requests_total{{{service},response_flags="UH"}} 1\n'
    until_seen(scene, job, lambda: len(pod_names(scene, job)) == 1, "a replica starts")
    assert problem(scene, job) == ""


@pytest.mark.parametrize("front", ["InferencePool", "Envoy", "Istio", "NGINX"])
@pytest.mark.parametrize("server", METRICS)
def test_prometheus_understands_what_it_is_asked_by_default(
    server: str, front: str, prometheus: PrometheusServer
) -> None:
    promised = {"timeToFirstToken": "1s", "timePerOutputToken": "50ms", "latency": "10s"}
    load = {"server": server, "gateway": {"type": front}}
    job = load_results.a_service("server", "prefill", "decode", load=load, slo=promised)
    connection = Connection(ConnectionTerms(prometheus.url))
    scope = Scope(120, 'cluster!="other"')
    types = {"prefill": {"NVIDIA-L4": ["chat-prefill-0"], H100: ["chat-prefill-1"]}}
    queries = [*default_queries(job, scope, types), past_query(job, job.spec.roles[1], scope)]
    assert [connection.now(query) for query in queries] == [[]] * len(queries)
