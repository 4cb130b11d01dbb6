"""Each query of the dashboard and the alerts, asked of a Prometheus that scrapes an operator."""

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.prometheus_server import PrometheusServer
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.programs.prometheus_program import find_prometheus
from plimsoll_devcluster.waiting import wait_until
from plimsoll_monitoring.alerts import ALERTS
from plimsoll_monitoring.dashboard import dashboard
from support.clusters.scene import SECONDS, Scene
from support.objects.bought_nodes import a_growing_pool
from support.objects.job_manifests import (
    a_policy,
    a_power_domain,
    a_priority_class,
    a_training_job,
    an_inference_job,
)
from support.project.pages import ROOT
from support.servers.gpu_exporter import GpuExporter, gpu_exporter

RULES = ROOT / "charts" / "plimsoll" / "files" / "alerts.yaml"
DID_NOT_HAPPEN = {
    "plimsoll_api_errors_total",
    "plimsoll_events_dropped_total",
    "plimsoll_faults_total",
    "plimsoll_finished_jobs_total",
    "plimsoll_idle_node_seconds_total",
    "plimsoll_node_shortages_total",
    "plimsoll_nodes_arrived_total",
    "plimsoll_nodes_bought",
    "plimsoll_nodes_given_back_total",
    "plimsoll_nodes_ordered_total",
    "plimsoll_object_errors_total",
    "plimsoll_plans_dropped_total",
    "plimsoll_prometheus_flawed_samples_total",
    "plimsoll_stragglers_total",
    "plimsoll_token_reviews_total",
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


def queries() -> list[str]:
    """All that is shown of the operator, as Grafana asks it when everything is chosen.

    What is shown of agents is asked in tests/integration/agent.
    """
    shown = [
        target["expr"]
        for panel in dashboard()["panels"]
        for target in panel.get("targets", [])
        if "plimsoll_agent_" not in target["expr"]
    ]
    choices = [each["name"] for each in dashboard()["templating"]["list"]]
    for choice in choices:
        shown = [each.replace(f"${choice}", ".*") for each in shown]
    return [each.replace("$__rate_interval", "15s") for each in shown]


def let_much_happen(scene: Scene) -> None:
    """Have jobs run, be preempted and never fit, a service scale, and a worker be refused."""
    scene.add_nodes(fake_node("node", gpus=4))
    scene.apply(a_priority_class("urgent", 1000))
    scene.apply(a_power_domain("row", {"kubernetes.io/hostname": "node"}, budget_watts=100_000))
    load = {"queries": [{"name": "Load", "query": "vector(2)"}], "forecast": {"horizon": "1s"}}
    service = an_inference_job("serve", role={"replicas": {"min": 1, "max": 2}}, load=load)
    first = a_training_job("first", workers=2)
    budget = a_policy(purchasing={"mostPerHour": "20"})
    scene.apply(service, a_growing_pool(sells=False), budget)
    scene.until(service, readySummary="2/2")
    scene.apply(first)
    scene.running(first)
    scene.apply(a_training_job("second", workers=3, priorityClassName="urgent"))
    scene.events(first, "Preempted")
    huge = a_training_job("huge", workers=64)
    scene.apply(huge)
    scene.until(huge, reason="CannotFit")
    forged = {"Authorization": "Bearer forged"}
    url = f"{scene.operator.worker_url}/v1/report"
    assert urllib3.request("POST", url, json={"job": "train"}, headers=forged).status == 401
    blind = an_inference_job(
        "blind", replicas=0, load={"queries": [{"name": "Load", "query": "x"}]}
    )
    scene.apply(blind)


def found(prometheus: PrometheusServer, query: str) -> list[Any]:
    return prometheus.ask("query", query=query)["result"]


def rules(prometheus: PrometheusServer) -> dict[str, dict[str, Any]]:
    groups = prometheus.ask("rules")["groups"]
    return {rule["name"]: rule for group in groups for rule in group["rules"]}


def acting(prometheus: PrometheusServer) -> set[str]:
    """The alerts that fire, or will when it goes on like this."""
    return {name for name, rule in rules(prometheus).items() if rule["state"] != "inactive"}


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
