"""A real Prometheus measures the load of services, and the operator does what follows from it."""

import math
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Gauge, start_http_server

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.prometheus_server import PrometheusServer
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import SECONDS, Scene, conditions
from support.objects.job_manifests import a_pool, a_priority_class, a_training_job, an_inference_job

QUICK: Manifest = {"down": {"stabilizationWindow": "2s"}}
SOON: Manifest = {"horizon": "1s", "quantile": "0.5"}


class Load:
    """What a gateway would say of the load of each service and role."""

    def __init__(self, address: str, gauge: Gauge) -> None:
        self.address = address
        self._gauge = gauge

    def be(self, load: float, *, service: str = "serve", role: str = "server") -> None:
        self._gauge.labels(service, role).set(load)


@pytest.fixture(scope="module")
def load() -> Iterator[Load]:
    registry = CollectorRegistry()
    gauge = Gauge("gateway_load", "Load.", ("service", "role"), registry=registry)
    server, thread = start_http_server(0, "127.0.0.1", registry=registry)
    yield Load(f"127.0.0.1:{server.server_port}", gauge)
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def prometheus(prometheus_program: Path, load: Load) -> Iterator[PrometheusServer]:
    with PrometheusServer(prometheus_program, [load.address]) as server:
        yield server


@pytest.fixture(scope="module")
def operator(control_plane: Cluster, prometheus: PrometheusServer) -> Iterator[OperatorProcess]:
    """A replica of the operator that asks this Prometheus every second."""
    settings = {
        "PLIMSOLL_PROMETHEUS_URL": prometheus.url,
        "PLIMSOLL_PROMETHEUS_TIMEOUT_SECONDS": "5",
        "PLIMSOLL_LOAD_SECONDS": "1",
        "PLIMSOLL_LOAD_WINDOW_SECONDS": "4",
    }
    with forked_operator(control_plane.kubeconfig, settings) as process:
        yield process
        assert process.stop() == 0


def a_service(name: str = "serve", **spec: Any) -> Manifest:  # noqa: ANN401 - fields of a spec
    """A service of 1 to 6 replicas, each of which carries 10 on an H100 and 5 on an A100."""
    query = f'gateway_load{{service="{name}",role="$role"}}'
    role = {"replicas": {"min": 1, "max": 6}}
    load = {"queries": [{"name": "Load", "query": query}], "forecast": SOON}
    return an_inference_job(
        name, loads={H100: 10, A100: 5}, role=role, load=load, scaling=QUICK, **spec
    )


def until_replicas(scene: Scene, job: Manifest, count: int) -> Manifest:
    """Wait until a service has so many replicas, all of them ready."""

    def has() -> Manifest | None:
        status = scene.status(job)
        ready = status.get("readySummary") == f"{count}/{count}"
        return status if ready and len(scene.pods_of(job)) == count else None

    what = f"{count} replicas are ready"
    try:
        return wait_until(has, timeout_seconds=SECONDS, what=what) or {}
    except TimeoutError as error:
        raise TimeoutError(f"{what}; it says {scene.status(job)}") from error


def until_unknown(scene: Scene, job: Manifest) -> str:
    """Wait until a service says that its load is not known; why."""

    def says() -> str:
        found = [c for c in scene.status(job).get("conditions", []) if c["type"] == "LoadKnown"]
        return found[0]["message"] if found and found[0]["status"] == "False" else ""

    return wait_until(says, timeout_seconds=SECONDS, what="the load is not known") or ""


def until_known(scene: Scene, job: Manifest) -> None:
    wait_until(
        lambda: conditions(scene.status(job)).get("LoadKnown") == "True",
        timeout_seconds=SECONDS,
        what="the load is known",
    )


def test_replicas_come_and_go_with_the_load(scene: Scene, load: Load) -> None:
    scene.add_nodes(fake_node("node", gpus=8))
    job = a_service()
    load.be(12)
    scene.apply(job)
    until_replicas(scene, job, 2)
    load.be(38)
    status = until_replicas(scene, job, 4)
    assert status["load"]["observed"] == "38"
    assert conditions(status)["LoadKnown"] == "True"
    load.be(1000)
    until_replicas(scene, job, 6)
    load.be(3)
    until_replicas(scene, job, 1)
    notes = [event["note"] for event in scene.events(job, "Resized")]
    assert any("from 2 to 4 replicas for a load of" in note for note in notes)


@contextmanager
def away(prometheus: PrometheusServer) -> Generator[None]:
    prometheus.stop()
    yield
    prometheus.start()


@pytest.mark.slow
def test_a_load_that_is_not_known_moves_nothing(
    scene: Scene, load: Load, prometheus: PrometheusServer
) -> None:
    scene.add_nodes(fake_node("node", gpus=8))
    job = a_service()
    load.be(28)
    scene.apply(job)
    before = {pod["metadata"]["uid"] for pod in until_three(scene, job)}
    for wrong in (math.nan, math.inf, -5):
        load.be(wrong)
        assert until_unknown(scene, job)
        load.be(28)
        until_known(scene, job)
    with away(prometheus):
        assert until_unknown(scene, job)
        scene.operator.kill()
        scene.operator.start()
    until_known(scene, job)
    assert {pod["metadata"]["uid"] for pod in until_three(scene, job)} == before
    assert scene.events(job, "LoadUnknown")


def until_three(scene: Scene, job: Manifest) -> list[Manifest]:
    until_replicas(scene, job, 3)
    return scene.pods_of(job)


def test_a_wrong_query_is_reported_with_what_prometheus_says_of_it(
    scene: Scene, load: Load
) -> None:
    scene.add_nodes(fake_node("node", gpus=8))
    job = a_service()
    job["spec"]["load"]["queries"][0]["query"] = "sum(rate(gateway_load"
    load.be(38)
    scene.apply(job)
    assert "parse error" in until_unknown(scene, job)
    until_replicas(scene, job, 1)
    scene.edit(job, {"load": a_service()["spec"]["load"]})
    until_replicas(scene, job, 4)


@pytest.mark.slow
def test_prefill_grows_with_longer_inputs_and_decode_stays(scene: Scene, load: Load) -> None:
    scene.add_nodes(fake_node("node", gpus=8))
    job = a_service()
    [role] = job["spec"]["roles"]
    job["spec"]["roles"] = [{**role, "name": "prefill"}, {**role, "name": "decode"}]
    for name in ("prefill", "decode"):
        load.be(18, role=name)
    scene.apply(job)
    wait_until(
        lambda: scene.status(job).get("readySummary") == "2/2, 2/2",
        timeout_seconds=SECONDS,
        what="two replicas of each role",
    )
    decode = {pod["metadata"]["uid"] for pod in scene.pods_of(job) if "decode" in str(pod)}
    revision = scene.status(job)["revision"]
    load.be(36, role="prefill")
    status = until(scene, job, "4/4, 2/2")
    assert status["revision"] == revision + 1, "within one decision"
    assert decode == {pod["metadata"]["uid"] for pod in scene.pods_of(job) if "decode" in str(pod)}


def until(scene: Scene, job: Manifest, ready: str) -> Manifest:
    return scene.until(job, readySummary=ready)


def sizes_of(scene: Scene, job: Manifest) -> dict[str, list[str]]:
    """The request sizes that the pods on each node say they take."""
    found: dict[str, list[str]] = {}
    for pod in scene.pods_of(job):
        labels = sorted(key for key in pod["metadata"]["labels"] if key.startswith("sizes."))
        found.setdefault(pod["spec"].get("nodeName", ""), []).append(",".join(labels))
    return {node: sorted(each) for node, each in found.items()}


@pytest.mark.slow
def test_request_sizes_go_to_the_gpu_types_that_are_cheapest_for_them(
    scene: Scene, load: Load
) -> None:
    kinds = {"h": (H100, "4"), "a": (A100, "1")}
    for name, (kind, price) in kinds.items():
        scene.add_nodes(fake_node(name, kind, 8))
        label = {"nvidia.com/gpu.product": kind}
        scene.apply(a_pool(name, label, gpuType=kind, pricePerGPUHour=price))
    job = a_service("sized")
    promql = 'label_replace(gateway_load{service="sized"}, "bucket", "$1", "role", "(.*)")'
    job["spec"]["load"]["queries"][0]["query"] = promql
    carries = {(H100, "short"): 10, (H100, "long"): 10, (A100, "short"): 10, (A100, "long"): 1}
    job["spec"]["roles"][0] |= {
        "requests": "BySize",
        "replicas": {"min": 1, "max": 8},
        "profiles": [{"type": k, "bucket": b, "load": n} for (k, b), n in carries.items()],
    }
    load.be(38, service="sized", role="short")
    load.be(18, service="sized", role="long")
    scene.apply(job)
    short, long = "sizes.plimsoll.dev/short", "sizes.plimsoll.dev/long"
    expected = {"h": [long] * 2, "a": [short] * 4}
    wait_until(
        lambda: sizes_of(scene, job) == expected,
        timeout_seconds=SECONDS,
        what=f"{expected}",
    )
    placed = scene.status(job)["placement"]["assignments"]
    assert {(each["acceleratorType"], each["sizeGroup"]) for each in placed} == {
        (H100, H100),
        (A100, A100),
    }
    before = {pod["metadata"]["uid"] for pod in scene.pods_of(job) if "short" in str(pod)}
    load.be(0, service="sized", role="long")
    wait_until(
        lambda: sizes_of(scene, job) == {"a": [f"{long},{short}"] * 4},
        timeout_seconds=SECONDS,
        what="all sizes go to those that are left",
    )
    assert before == {pod["metadata"]["uid"] for pod in scene.pods_of(job)}


@pytest.mark.slow
def test_a_spike_shrinks_training_and_gives_its_gpus_back(scene: Scene, load: Load) -> None:
    scene.add_nodes(fake_node("node", gpus=8))
    scene.apply(a_priority_class("serving", 1000))
    job = a_service(priorityClassName="serving")
    train = a_training_job("train", workers=(2, 6), rates={H100: {2: 20, 4: 40, 6: 60}})
    load.be(18)
    scene.apply(job)
    until_replicas(scene, job, 2)
    scene.apply(train)
    assert len(scene.running(train).pods) == 6
    load.be(38)
    until_replicas(scene, job, 4)
    until_workers(scene, train, 4)
    load.be(18)
    until_replicas(scene, job, 2)
    until_workers(scene, train, 6)
    notes = [event["note"] for event in scene.events(train, "Resized")]
    mine = f"makes room for InferenceJob/{scene.namespace}/serve (priority 1000)"
    assert any("from 6 to 4 workers" in note and mine in note for note in notes)
    assert any("from 4 to 6 workers" in note for note in notes)
    assert not [each for each in scene.all_events(train) if each["reason"] == "Preempted"]


def until_workers(scene: Scene, job: Manifest, count: int) -> None:
    wait_until(
        lambda: len(scene.running(job).pods) == count,
        timeout_seconds=SECONDS,
        what=f"{count} workers run",
    )
