"""What is shown of agents and alerted on, asked of a Prometheus that scrapes one."""

import os

import pytest

from plimsoll_devcluster.processes.prometheus_server import PrometheusServer
from plimsoll_devcluster.programs.prometheus_program import find_prometheus
from plimsoll_devcluster.waiting import wait_until
from plimsoll_monitoring.agent_panels import AGENT_ROWS
from support.programs.agent_process import AgentProcess, Operator
from support.programs.nvml_gpus import FakeGpus, NvmlError
from support.project.pages import ROOT

RULES = ROOT / "charts" / "plimsoll" / "files" / "alerts.yaml"
ALERTS = {"PlimsollPowerLimitsNotSet", "PlimsollAgentsHearNoOperator"}
SECONDS = 60
SHOWN = [
    query.expression.replace("$__rate_interval", "15s")
    for row in AGENT_ROWS
    for panel in row.panels
    for query in panel.queries
]


def answered(prometheus: PrometheusServer) -> set[str]:
    """The queries that anything was found for."""
    return {each for each in SHOWN if prometheus.ask("query", query=each)["result"]}


def raised(prometheus: PrometheusServer) -> set[str]:
    """The alerts that fire, or will when it goes on like this."""
    return {each["labels"]["alertname"] for each in prometheus.ask("alerts")["alerts"]}


@pytest.mark.slow
def test_each_panel_of_agents_shows_something_and_the_alerts_come_when_they_must(
    agent: AgentProcess, gpus: FakeGpus, operator_lease: Operator
) -> None:
    agent.start()
    agent.until_reported("700,700")
    program = find_prometheus(os.environ)
    with PrometheusServer(program, [agent.address], rules=RULES) as prometheus:
        well = {each for each in SHOWN if "== 0" not in each and "errors" not in each}
        wait_until(
            lambda: answered(prometheus) == well, timeout_seconds=SECONDS, what="all is well"
        )
        assert not raised(prometheus) & ALERTS
        gpus.fail("0", NvmlError.GPU_IS_LOST)
        operator_lease.fall_silent()
        ill = {each for each in SHOWN if "== 1" not in each}
        wait_until(lambda: answered(prometheus) == ill, timeout_seconds=SECONDS, what="all is ill")
        wait_until(
            lambda: raised(prometheus) >= ALERTS, timeout_seconds=SECONDS, what="alerts are raised"
        )
