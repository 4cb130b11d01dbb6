"""What the agent makes of a wanted cap: it sets it, reads it back, or reports why it cannot."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.fake_nodes import NODES
from plimsoll_devcluster.waiting import wait_until
from support.programs.agent_process import (
    REPORT_SECONDS,
    AgentAccount,
    AgentProcess,
    Operator,
)
from support.programs.nvml_gpus import FakeGpus, NvmlError, PowerGpus

pytestmark = pytest.mark.usefixtures("operator_lease")
NODE = "gpu-node"


@pytest.fixture
def agent_of_any(
    account: AgentAccount, any_gpus: PowerGpus, tmp_path: Path
) -> Iterator[AgentProcess]:
    process = AgentProcess(account, NODE, tmp_path, any_gpus.environment)
    yield process.start()
    process.kill()


def as_reported(watts: list[int]) -> str:
    return ",".join(map(str, watts))


def test_a_wanted_cap_is_set_read_back_and_lifted_again(
    agent_of_any: AgentProcess, any_gpus: PowerGpus
) -> None:
    defaults, cap = any_gpus.defaults(), any_gpus.cap()
    agent_of_any.until_reported(as_reported(defaults))
    agent_of_any.want(cap)
    agent_of_any.until_reported(as_reported([cap] * len(defaults)))
    assert any_gpus.limits() == [cap] * len(defaults)
    agent_of_any.want(None)
    agent_of_any.until_reported(as_reported(defaults))
    assert any_gpus.limits() == defaults


def test_a_cap_outside_of_the_range_is_refused_and_changes_nothing(
    agent: AgentProcess, gpus: FakeGpus
) -> None:
    agent.start().want(300)
    agent.until_reported("300,300")
    sets = gpus.sets()
    agent.want(150)
    agent.until_reported("300,300", "GPU 0, 1: a cap of 150 W is outside of 200 to 700 W")
    agent.want(800)
    agent.until_reported("300,300", "GPU 0, 1: a cap of 800 W is outside of 200 to 700 W")
    assert gpus.sets() == sets
    assert agent.metric("plimsoll_agent_unsettled_gpus") == 2
    agent.want(400)
    agent.until_reported("400,400")
    assert agent.metric("plimsoll_agent_unsettled_gpus") == 0


def test_what_is_no_number_changes_nothing(agent: AgentProcess) -> None:
    agent.start().want(300)
    agent.until_reported("300,300")
    agent.want("a lot")
    agent.until_reported("300,300", "'a lot' is no whole number of watts")


@pytest.mark.slow
def test_gpus_of_other_ranges_are_dealt_with_one_by_one(
    agent: AgentProcess, gpus: FakeGpus
) -> None:
    gpus.set(1, lowest=100, highest=250, default=250, limit=250)
    agent.start().want(300)
    agent.until_reported("300,250", "GPU 1: a cap of 300 W is outside of 100 to 250 W")


@pytest.mark.slow
def test_the_reported_limit_is_the_one_that_the_gpu_keeps_to(
    agent: AgentProcess, gpus: FakeGpus
) -> None:
    gpus.set(0, board=500)
    agent.start()
    agent.until_reported("500,700")
    # It is measured after the node says so.
    wait_until(
        lambda: agent.metric("plimsoll_agent_power_limit_watts", gpu="0") == 500,
        timeout_seconds=REPORT_SECONDS,
        what="the metric says so too",
    )


def test_a_gpu_that_does_not_keep_to_its_limit_is_reported_until_it_does(
    agent: AgentProcess, gpus: FakeGpus
) -> None:
    gpus.set(0, stuck=600)
    agent.start().want(300)
    agent.until_reported("600,300", "GPU 0: was set to 300 W, says 300 W and keeps to 600 W")
    gpus.obey(0)
    agent.until_reported("300,300")


def test_a_lost_gpu_is_reported_and_keeps_no_other_from_its_cap(
    agent: AgentProcess, gpus: FakeGpus
) -> None:
    gpus.fail("0", NvmlError.GPU_IS_LOST)
    agent.start().want(300)
    agent.until_reported(",300", "GPU 0: does not report its limits: GPU is lost")
    gpus.heal("0")
    agent.until_reported("300,300")


def test_a_gpu_that_may_not_be_set_is_reported_with_the_limit_that_it_has(
    agent: AgentProcess, gpus: FakeGpus
) -> None:
    gpus.fail("1.set", NvmlError.NO_PERMISSION)
    agent.start().want(300)
    agent.until_reported("300,700", "GPU 1: cannot be set to 300 W: Insufficient Permissions")
    gpus.heal("1.set")
    agent.until_reported("300,300")


@pytest.mark.slow
def test_a_limit_that_somebody_else_has_set_is_set_right(
    agent: AgentProcess, gpus: FakeGpus
) -> None:
    agent.start().want(300)
    agent.until_reported("300,300")
    gpus.set(0, limit=650)
    agent.until(lambda: gpus.limits() == [300, 300], "it is 300 W again")


@pytest.mark.slow
def test_an_annotation_that_somebody_else_has_written_is_put_right(
    agent: AgentProcess, api: ApiServer
) -> None:
    agent.start()
    agent.until_reported("700,700")
    forged = {"plimsoll.dev/power-limit-watts": "1,1"}
    api.merge(f"{NODES}/{NODE}", {"metadata": {"annotations": forged}})
    agent.until_reported("700,700")


@pytest.mark.slow
def test_a_driver_that_comes_late_is_found(agent: AgentProcess, gpus: FakeGpus) -> None:
    gpus.fail("init", NvmlError.DRIVER_NOT_LOADED)
    agent.start().want(300)
    agent.until_reported(None, "no power limit can be set here: Driver Not Loaded")
    gpus.heal("init")
    agent.until_reported("300,300")


@pytest.mark.slow
def test_after_a_driver_was_loaded_anew_the_cap_is_set_again(
    agent: AgentProcess, gpus: FakeGpus
) -> None:
    agent.start().want(300)
    agent.until_reported("300,300")
    gpus.load_driver_anew()
    agent.until(lambda: gpus.limits() == [300, 300], "it is set again", gpus.limits)
    agent.until_reported("300,300")


def test_without_a_driver_it_is_ready_and_says_so_once(
    account: AgentAccount, tmp_path: Path, operator_lease: Operator
) -> None:
    assert operator_lease
    agent = AgentProcess(account, NODE, tmp_path, {"LD_LIBRARY_PATH": ""}).start()
    try:
        agent.until(lambda: agent.metric("plimsoll_agent_operator_alive") == 1, "it has looked")
        assert agent.reported() == (None, None)
        assert agent.probe("/healthz") == (200, "ok")
        agent.want(300)
        agent.until_reported(None, "no power limit can be set here: NVML Shared Library Not Found")
        agent.want(None)
        agent.until_reported(None)
        assert len(agent.said("no GPU to set a limit of")) == 1
    finally:
        agent.kill()
