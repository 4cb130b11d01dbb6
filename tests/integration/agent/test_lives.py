"""Who outlives whom: the agent its operator, and the GPUs' limits the agent."""

from collections.abc import Iterator

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import NODES
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.short_lives import forked_operator
from support.clusters.scene import GROUP
from support.objects.job_manifests import a_policy
from support.programs.agent_process import PROBLEM, AgentProcess, Operator
from support.programs.nvml_gpus import FakeGpus

SILENT = "the operator has been silent for 6 s: default limits are restored"


@pytest.fixture
def real_operator(
    control_plane: Cluster, api: ApiServer, namespace: str
) -> Iterator[OperatorProcess]:
    """The operator itself, with its Lease in the test's namespace; it leaves caps to the test."""
    api.apply(f"{GROUP}/placementpolicies/default", a_policy(mode="Advise"))
    process = forked_operator(control_plane.kubeconfig, {"PLIMSOLL_NAMESPACE": namespace})
    with process:
        yield process


@pytest.mark.slow
def test_default_limits_come_back_when_the_operator_dies_and_the_cap_when_it_is_back(
    agent: AgentProcess, gpus: FakeGpus, real_operator: OperatorProcess
) -> None:
    agent.start().want(300)
    agent.until_reported("300,300")
    real_operator.kill()
    agent.until_reported("700,700", SILENT)
    assert gpus.limits() == [700, 700]
    assert agent.metric("plimsoll_agent_operator_alive") == 0
    real_operator.start()
    agent.until_reported("300,300")


def test_while_the_operator_lives_a_cap_stays(
    agent: AgentProcess, gpus: FakeGpus, operator_lease: Operator
) -> None:
    agent.start().want(300)
    agent.until_reported("300,300")
    sets = gpus.sets()
    operator_lease.fall_silent()
    agent.until_reported("700,700", SILENT)
    operator_lease.live()
    agent.until_reported("300,300")
    # One more for each GPU and change: nothing was set back and forth in between.
    assert gpus.sets() == sets + 4


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_the_limits_outlive_the_agent_and_the_next_one_goes_on_without_touching_them(
    agent: AgentProcess, gpus: FakeGpus, operator_lease: Operator, end: str
) -> None:
    assert operator_lease
    agent.start().want(300)
    agent.until_reported("300,300")
    sets = gpus.sets()
    assert getattr(agent, end)() in (0, None)
    assert gpus.limits() == [300, 300]
    agent.start()
    agent.until(lambda: agent.metric("plimsoll_agent_operator_alive") == 1, "it knows all")
    assert agent.reported() == ("300,300", None)
    assert gpus.sets() == sets


@pytest.mark.slow
def test_what_is_wanted_while_no_agent_runs_is_done_by_the_next_one(
    agent: AgentProcess, gpus: FakeGpus, operator_lease: Operator
) -> None:
    assert operator_lease
    agent.want(300)
    assert gpus.limits() == [700, 700]
    agent.start()
    agent.until_reported("300,300")


@pytest.mark.slow
def test_an_agent_that_does_not_know_yet_whether_the_operator_lives_touches_nothing(
    agent: AgentProcess, gpus: FakeGpus, operator_lease: Operator, api: ApiServer
) -> None:
    operator_lease.fall_silent()
    gpus.set(0, limit=350)
    agent.start().want(300)
    agent.until(lambda: agent.said("settled"), "it has made a turn")
    assert gpus.sets() == 0
    assert PROBLEM not in api.get(f"{NODES}/gpu-node")["metadata"]["annotations"]
    agent.until_reported("700,700", SILENT)


@pytest.mark.slow
def test_the_agent_goes_on_when_the_api_server_was_away(
    agent: AgentProcess, gpus: FakeGpus, operator_lease: Operator, control_plane: Cluster
) -> None:
    agent.start().want(300)
    agent.until_reported("300,300")
    operator_lease.fall_silent()
    control_plane.restart_api_server()
    operator_lease.live()
    agent.want(400)
    agent.until_reported("400,400")
    assert gpus.limits() == [400, 400]
    assert agent.probe("/healthz") == (200, "ok")
