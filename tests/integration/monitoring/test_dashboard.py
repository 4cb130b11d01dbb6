"""Each query of the dashboards and the alerts, asked of a Prometheus that scrapes an operator."""

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.prometheus_server import PrometheusServer
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.programs.prometheus_program import find_prometheus
from plimsoll_devcluster.waiting import wait_until
from plimsoll_monitoring.alerts import ALERTS
from plimsoll_monitoring.boards import BOARDS
from support.clusters.cluster_autoscaler import ClusterAutoscaler, cluster_autoscaler
from support.clusters.scene import SECONDS, Scene
from support.clusters.target_lives import a_targeting_job
from support.objects.bought_nodes import a_growing_pool, an_autoscaled_pool
from support.objects.job_manifests import (
    a_policy,
    a_pool,
    a_power_domain,
    a_priority_class,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
)
from support.project.pages import ROOT
from support.servers.gpu_exporter import GpuExporter, gpu_exporter
from support.servers.worker_endpoint import a_token

pytestmark = pytest.mark.usefixtures("provisioning_requests")  # the kind is served
RULES = ROOT / "charts" / "plimsoll" / "files" / "alerts.yaml"
DID_NOT_HAPPEN = {
    "plimsoll_events_dropped_total",
    "plimsoll_faults_total",
    "plimsoll_idle_node_seconds_total",
    "plimsoll_node_shortages_total",
    "plimsoll_nodes_given_back_total",
    "plimsoll_object_errors_total",
    "plimsoll_plans_dropped_total",
    "plimsoll_service_kv_cache_used_ratio",
    "plimsoll_stragglers_total",
    "plimsoll_worker_connections_refused_total",
}
"""Series of what does not happen here: they come into being when it does."""
OF_A_SLOW_MACHINE = {"PlimsollPlansSlowly", "PlimsollDropsPlans"}
"""Alerts about how long plans take: raised, rightly, where these tests get too little of a CPU."""
SERIES = re.compile(r"\b(plimsoll_\w+)")


@pytest.fixture(scope="module")
def exporter() -> Iterator[GpuExporter]:
    with gpu_exporter() as exporter:
        exporter.report("node", 0)
        yield exporter


@pytest.fixture(scope="module")
def asked(exporter: GpuExporter) -> Iterator[PrometheusServer]:
    """The Prometheus that the operator asks."""
    with PrometheusServer(find_prometheus(os.environ), [exporter.scraped]) as server:
        yield server


@pytest.fixture(scope="module")
def operator(
    control_plane: Cluster, asked: PrometheusServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    settings = {
        "PLIMSOLL_REQUESTS_NODES": "true",
        "PLIMSOLL_PROMETHEUS_URL": asked.url,
        "PLIMSOLL_PROMETHEUS_SECONDS": "1",
        "PLIMSOLL_LOAD_SECONDS": "1",
        "PLIMSOLL_LOAD_WINDOW_SECONDS": "4",
        "PLIMSOLL_SNAPSHOT_DIR": str(tmp_path_factory.mktemp("snapshots")),
        "PLIMSOLL_SNAPSHOT_SECONDS": "0",
    }
    with forked_operator(control_plane.kubeconfig, settings) as process:
        yield process
        assert process.stop() == 0


@pytest.fixture
def watching(operator: OperatorProcess) -> Iterator[PrometheusServer]:
    """The Prometheus that scrapes the operator, with the chart's alerts."""
    prometheus = find_prometheus(os.environ)
    with PrometheusServer(prometheus, [operator.address], rules=RULES) as server:
        yield server


@pytest.fixture
def autoscaler(scene: Scene) -> Iterator[ClusterAutoscaler]:
    """What makes the nodes that are bought."""
    with cluster_autoscaler(scene.api) as found:
        yield found


def queries() -> list[str]:
    """All that is shown of the operator, as Grafana asks it when everything is chosen.

    What is shown of agents is asked in tests/integration/agent.
    """
    shown = [
        query.expression
        for board in BOARDS
        for row in board.rows
        for panel in row.panels
        for query in panel.queries
        if "plimsoll_agent_" not in query.expression
    ]
    # One pattern that matches all for the choices on a board, and one time for Grafana's.
    spans = [re.sub(r"\$__(rate_interval|range)", "15s", each) for each in shown]
    return [re.sub(r"\$\w+", ".*", each) for each in spans]


def let_much_happen(scene: Scene) -> None:
    """Have a service scale, and jobs run, end, be preempted, get bought nodes and wait."""
    labels = {"pool": "owned"}
    power = {"idleWatts": 100, "typicalWatts": 500, "limitWatts": 700}
    scene.apply(a_pool("owned", labels, pricePerGPUHour="2", power=power))
    scene.apply(a_queue("team", guaranteed=4, limit=8))
    scene.add_nodes(fake_node("node", gpus=4, labels=labels))
    scene.apply(a_priority_class("urgent", 1000))
    scene.apply(a_power_domain("row", {"kubernetes.io/hostname": "node"}, budget_watts=100_000))
    queries = [{"name": "Load", "query": "vector(2)"}, {"name": "Attainment", "query": "vector(1)"}]
    load = {"queries": queries, "forecast": {"horizon": "1s"}}
    service = an_inference_job("serve", role={"replicas": {"min": 1, "max": 2}}, load=load)
    first = a_training_job("first", workers=2)
    budget = a_policy(purchasing={"mostPerHour": "20"})
    scene.apply(service, a_growing_pool(sells=False), budget)
    scene.until(service, readySummary="2/2")
    short = a_training_job("short", template=a_template(wishes={"run-seconds": "1"}))
    scene.apply(short)
    scene.until(short, reason="Completed")
    scene.apply(first)
    scene.running(first)
    second = a_training_job("second", workers=3, priorityClassName="urgent", queue="team")
    scene.apply(second)
    scene.events(first, "Preempted")
    scene.apply(an_autoscaled_pool("bought", most=1))
    scene.running(first)
    scene.apply(a_training_job("next", gpus=8))
    let_some_go_wrong(scene, scene.running(second).pods[0])


def let_some_go_wrong(scene: Scene, worker: Manifest) -> None:
    """Have a job never fit, a worker be refused, loads be unknown, and a target be missing."""
    huge = a_training_job("huge", workers=64)
    scene.apply(huge)
    scene.until(huge, reason="CannotFit")
    for token in ("forged", a_forged_token(worker)):
        forged = {"Authorization": f"Bearer {token}"}
        url = f"{scene.operator.worker_url}/v1/report"
        assert urllib3.request("POST", url, json={"job": "train"}, headers=forged).status == 401
    for name, query in (("blind", "x"), ("flawed", "vector(0) / 0")):
        queries = [{"name": "Load", "query": query}]
        scene.apply(an_inference_job(name, replicas=0, load={"queries": queries}))
    scene.apply(a_targeting_job("lost"))


def a_forged_token(pod: Manifest) -> str:
    """A token that claims to be of a worker, and that the API server has never signed."""
    meta = pod["metadata"]
    namespace, bound = meta["namespace"], {key: meta[key] for key in ("name", "uid")}
    claims: dict[str, Any] = {"kubernetes.io": {"namespace": namespace, "pod": bound}}
    account = f"system:serviceaccount:{namespace}:default"
    return a_token(meta["name"], sub=account, **claims)


def found(prometheus: PrometheusServer, query: str) -> list[Any]:
    return prometheus.ask("query", query=query)["result"]


def rules(prometheus: PrometheusServer) -> dict[str, dict[str, Any]]:
    groups = prometheus.ask("rules")["groups"]
    return {rule["name"]: rule for group in groups for rule in group["rules"]}


def acting(prometheus: PrometheusServer) -> set[str]:
    """The alerts that fire, or will when it goes on like this."""
    return {name for name, rule in rules(prometheus).items() if rule["state"] != "inactive"}


@pytest.mark.slow
@pytest.mark.usefixtures("autoscaler")
def test_what_is_shown_and_alerted_on_is_what_the_operator_reports(
    scene: Scene, watching: PrometheusServer
) -> None:
    let_much_happen(scene)
    rare = {each for each in queries() if set(SERIES.findall(each)) & DID_NOT_HAPPEN}

    def empty() -> set[str]:
        return {each for each in queries() if not found(watching, each)}

    def all_there() -> bool:
        return empty() <= rare

    try:
        wait_until(all_there, timeout_seconds=SECONDS, what="all panels show something")
    except TimeoutError as error:
        raise AssertionError(f"nothing to see: {sorted(empty() - rare)}") from error
    wait_until(
        lambda: all(rule["health"] == "ok" for rule in rules(watching).values()),
        timeout_seconds=SECONDS,
        what="all alerts are evaluated",
    )
    loaded = rules(watching)
    assert loaded.keys() == {alert.name for alert in ALERTS}
    expected = {"PlimsollRefusesWorkers", "PlimsollJobsCannotRun"}
    allowed = {*expected, *OF_A_SLOW_MACHINE, "PlimsollKnowsNoLoad", "PlimsollPowerUnknown"}
    # A rule is evaluated a moment after what it is about was scraped; and between two scrapes, the
    # first that there are, an idle loop may not have turned.
    try:
        wait_until(
            lambda: expected <= acting(watching) <= allowed,
            timeout_seconds=SECONDS,
            what="the alerts of what happened are raised, and no others",
        )
    except TimeoutError as error:
        raise AssertionError(f"raised are {sorted(acting(watching))}") from error
