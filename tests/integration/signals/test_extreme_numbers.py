"""Numbers at the ends of what the API server takes, and of what a query may return, stop nobody."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.prometheus_server import PrometheusServer
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.waiting import wait_until
from support.clusters.neighbours import placed_meanwhile
from support.clusters.scene import Scene
from support.objects.job_manifests import a_pool, a_training_job, an_inference_job

SPOT = {"terms": "spot"}


@pytest.fixture(scope="module")
def operator(control_plane: Cluster, prometheus_program: Path) -> Iterator[OperatorProcess]:
    """A replica of the operator that asks a true Prometheus every second."""
    with PrometheusServer(prometheus_program, []) as prometheus:
        settings = {"PLIMSOLL_PROMETHEUS_URL": prometheus.url, "PLIMSOLL_LOAD_SECONDS": "1"}
        with forked_operator(control_plane.kubeconfig, settings) as process:
            yield process
            assert process.stop() == 0


def slow(rate: str) -> Manifest:
    """A job that would be done long after its deadline, and after the end of all calendars."""
    soon = (datetime.now(UTC) + timedelta(minutes=5)).isoformat()
    work = {"amount": "1e15", "deadline": soon}
    return a_training_job("extreme", rates={H100: rate}, work=work, spot={"allowed": True})


def weak(carried: str) -> Manifest:
    """A service with more load than all its replicas carry in ages."""
    queries = {"queries": [{"name": "Load", "query": "vector(1e15)"}]}
    role = {"replicas": {"min": 1, "max": 3}}
    return an_inference_job("extreme", loads={H100: carried}, role=role, load=queries)


@pytest.mark.parametrize("extreme", [slow("0.001"), slow("1e-330")], ids=["0.001", "1e-330"])
def test_work_for_millions_of_years_is_placed_as_any_and_stops_nobody(
    scene: Scene, extreme: Manifest
) -> None:
    scene.add_nodes(fake_node("spot", gpus=1, labels=SPOT), fake_node("steady", gpus=2))
    scene.apply(a_pool("spot", SPOT, capacityType="Spot"), extreme)
    scene.running(extreme)
    placed_meanwhile(scene, "other")
    assert scene.operator.metric("plimsoll_loop_errors_total") == 0


@pytest.mark.parametrize("extreme", [weak("1e-9"), weak("1e-300")], ids=["1e-9", "1e-300"])
def test_a_load_beyond_all_replicas_gets_those_allowed_and_stops_nobody(
    scene: Scene, extreme: Manifest
) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    scene.apply(extreme)
    wait_until(
        lambda: scene.status(extreme).get("roles", [{}])[0].get("wanted") == 3,
        timeout_seconds=scene.patience_seconds,
        what="all replicas that are allowed are wanted",
    )
    placed_meanwhile(scene, "other")
    assert scene.operator.metric("plimsoll_loop_errors_total") == 0
