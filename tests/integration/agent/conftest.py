"""A node with GPUs, an agent on it that has the chart's rights, and an operator that lives."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import add_nodes, fake_node
from support.programs.agent_process import AgentAccount, AgentProcess, Operator, agent_account
from support.programs.nvml_gpus import FakeGpus, PowerGpus, RealGpus, compiled

NODE = "gpu-node"


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with our libnvidia-ml.so.1."""
    return compiled(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def account(control_plane: Cluster, api: ApiServer, namespace: str) -> Iterator[AgentAccount]:
    """Who agents are; there is a node for one."""
    add_nodes(api, [fake_node(NODE)])
    with agent_account(control_plane, namespace) as found:
        yield found


@pytest.fixture
def gpus(library: Path, tmp_path: Path) -> FakeGpus:
    """Two GPUs of 200 to 700 W."""
    folder = tmp_path / "gpus"
    folder.mkdir()
    return FakeGpus(library, folder)


@pytest.fixture
def any_gpus(request: pytest.FixtureRequest) -> Iterator[PowerGpus]:
    """The GPUs of this machine where PLIMSOLL_REAL_GPUS is true, else those of our library."""
    if os.environ.get("PLIMSOLL_REAL_GPUS", "").lower() != "true":
        yield request.getfixturevalue("gpus")
        return
    real = RealGpus()
    real.restore()
    yield real
    real.restore()


@pytest.fixture
def operator_lease(api: ApiServer, namespace: str) -> Iterator[Operator]:
    """An operator that lives."""
    operator = Operator(api, namespace)
    operator.live()
    yield operator
    operator.fall_silent()


@pytest.fixture
def agent(account: AgentAccount, gpus: FakeGpus, tmp_path: Path) -> Iterator[AgentProcess]:
    """The agent of these GPUs, not started yet."""
    process = AgentProcess(account, NODE, tmp_path, gpus.environment)
    yield process
    process.kill()
