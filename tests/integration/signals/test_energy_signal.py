"""A real Prometheus says how much energy matters, and plans weigh it so."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.prometheus_server import PrometheusServer
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene, conditions
from support.objects.job_manifests import a_policy, a_pool, a_training_job

SECONDS = 60
HUNGRY = {"idleWatts": 100, "typicalWatts": 650, "limitWatts": 700}
LEAN = {"idleWatts": 50, "typicalWatts": 250, "limitWatts": 300}
MEASURED = "EnergySignalMeasured"


@pytest.fixture
def operator(control_plane: Cluster, prometheus_program: Path) -> Iterator[OperatorProcess]:
    with PrometheusServer(prometheus_program, []) as prometheus:
        asking = {"PROMETHEUS_URL": prometheus.url, "PROMETHEUS_SECONDS": "1"}
        environment = {f"PLIMSOLL_{name}": value for name, value in asking.items()}
        with forked_operator(control_plane.kubeconfig, environment) as process:
            yield process
            assert process.stop() == 0


@pytest.mark.slow
def test_a_dirty_grid_has_work_go_where_it_takes_less_energy(
    api: ApiServer, namespace: str, operator: OperatorProcess
) -> None:
    scene = Scene(api, namespace, operator)
    scene.add_nodes(
        fake_node("hungry", H100, 4, labels={"pool": "hungry"}),
        fake_node("lean", A100, 4, labels={"pool": "lean"}),
    )
    policy = a_policy(objective={"energySignal": {"query": "vector(400)", "usual": 400}})
    scene.apply(
        a_pool("hungry", {"pool": "hungry"}, power=HUNGRY),
        a_pool("lean", {"pool": "lean"}, power=LEAN, pricePerGPUHour="0.5"),
        policy,
    )

    def counts(factor: str, measured: str) -> bool:
        status = scene.status(policy)
        found = conditions(status).get(MEASURED)
        return (status.get("energy", {}).get("factor"), found) == (factor, measured)

    def until(factor: str, measured: str) -> None:
        what = f"energy counts {factor} times, measured: {measured}"
        wait_until(lambda: counts(factor, measured), timeout_seconds=SECONDS, what=what)

    def asks(query: str) -> None:
        scene.edit(policy, {"objective": {"energySignal": {"query": query, "usual": 400}}})

    rates = {H100: 10, A100: 10}
    until("1", "True")
    clean = a_training_job("clean", rates=rates)
    scene.apply(clean)
    assert scene.running(clean).gpu_types == {H100}

    asks("vector(9000)")
    until("10", "True")
    dirty = a_training_job("dirty", rates=rates)
    scene.apply(dirty)
    assert scene.running(dirty).gpu_types == {A100}

    asks("no_such_series")
    until("10", "False")
    operator.kill()
    operator.start()
    until("10", "False")
