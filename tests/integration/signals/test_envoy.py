"""A real Envoy before a service that sleeps: what waits there, or is turned away, wakes it."""

import sys
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import urllib3

from plimsoll.api.parts.roles import ANY_SIZE
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.ports import free_port
from plimsoll_devcluster.processes.prometheus_server import PrometheusServer
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene
from support.objects.job_manifests import an_inference_job
from support.objects.load_results import a_service
from support.servers.envoy_config import Front
from support.servers.envoy_gateway import EnvoyGateway
from support.servers.scraped_load import DRAIN_SECONDS, SCOPE, reading_of, until_scraped

HELD = 12
FRONT = "front"
SECONDS = 60
PATIENCE_SECONDS = 240

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="Envoy's package is for Linux only"),
]


@contextmanager
def a_replica_at(port: int) -> Generator[None]:
    """Answer each request there, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def port() -> int:
    """Where the service of the operator's test answers once it has a replica."""
    return free_port()


@pytest.fixture(scope="module")
def envoy(port: int) -> Iterator[EnvoyGateway]:
    with EnvoyGateway(Front({"/": FRONT}, {FRONT: ("127.0.0.1", port)})) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def operator(
    control_plane: Cluster, envoy: EnvoyGateway, prometheus_program: Path
) -> Iterator[OperatorProcess]:
    with PrometheusServer(prometheus_program, [envoy.statistics]) as prometheus:
        asking = {
            "PLIMSOLL_PROMETHEUS_URL": prometheus.url,
            "PLIMSOLL_LOAD_SECONDS": "1",
            "PLIMSOLL_LOAD_WINDOW_SECONDS": "6",
        }
        with forked_operator(control_plane.kubeconfig, asking) as process:
            yield process
            assert process.stop() == 0


@pytest.fixture
def users() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(HELD) as threads:
        yield threads


def ask(url: str) -> int:
    """Send a request, and wait for the status of its answer."""
    return urllib3.request("GET", url, retries=False, timeout=PATIENCE_SECONDS).status


def load_of(name: str, prometheus: PrometheusServer, *, ready: int = 0) -> float:
    """The load that is read of a service behind Envoy."""
    job = a_service(name=name, least=0, load={"gateway": {"type": "Envoy"}})
    return reading_of(job, prometheus, ready=ready).loads["server"][ANY_SIZE]


def test_requests_held_for_a_first_replica_count_once_and_for_as_long_as_they_wait(
    prometheus_program: Path, users: ThreadPoolExecutor
) -> None:
    port = free_port()
    front = Front({"/": "team/chat/80"}, {"team/chat/80": ("127.0.0.1", port)})
    with (
        EnvoyGateway(front) as envoy,
        PrometheusServer(prometheus_program, [envoy.statistics]) as prometheus,
    ):
        until_scraped(prometheus, 1)
        assert load_of("chat", prometheus) == 0
        answers = [users.submit(ask, envoy.url) for _ in range(HELD)]
        seen = [0.0]

        def only_waits() -> bool:
            seen.append(load_of("chat", prometheus))
            return max(seen) > 2 / DRAIN_SECONDS > seen[-1] > 0

        wait_until(only_waits, timeout_seconds=SECONDS, what="those that came have been counted")
        came = HELD / SCOPE.window_seconds
        assert 0.7 * came < max(seen) < 1.5 * came, "each counts, however often it is tried again"
        assert not any(answer.done() for answer in answers)
        with a_replica_at(port):
            assert [answer.result() for answer in answers] == [200] * HELD
            wait_until(
                lambda: load_of("chat", prometheus) == 0,
                timeout_seconds=SECONDS,
                what="nobody waits any more",
            )


def test_requests_that_find_no_replica_are_load(prometheus_program: Path) -> None:
    front = Front({"/": "httproute/team/chat/rule/0"}, {"httproute/team/chat/rule/0": None})
    with (
        EnvoyGateway(front) as envoy,
        PrometheusServer(prometheus_program, [envoy.statistics]) as prometheus,
    ):
        until_scraped(prometheus, 1)
        assert {ask(envoy.url) for _ in range(HELD)} == {503}
        wait_until(
            lambda: load_of("chat", prometheus) > 0.7 * HELD / SCOPE.window_seconds,
            timeout_seconds=SECONDS,
            what="all that were turned away count",
        )


def test_a_request_that_waits_at_envoy_starts_a_replica_and_is_answered_by_it(
    scene: Scene, envoy: EnvoyGateway, port: int, users: ThreadPoolExecutor
) -> None:
    scene.add_nodes(fake_node("n", gpus=8))
    job = an_inference_job(
        "chat",
        loads={H100: 10},
        role={"replicas": {"min": 0, "max": 4}, "drain": "0s"},
        scaling={"down": {"stabilizationWindow": "3s"}},
        load={"gateway": {"type": "Envoy", "name": FRONT}, "forecast": {"horizon": "3s"}},
    )
    scene.apply(job)
    scene.until(job, reason="ScaledToZero")
    answer = users.submit(ask, envoy.url)
    assert len(scene.running(job).pods) == 1
    assert not answer.done()
    with a_replica_at(port):
        assert answer.result() == 200
