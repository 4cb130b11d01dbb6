"""One real cluster for the session, the chart installed in it, and for each test a namespace.

What is needed for that is looked for first: without it the tests are skipped with the reason, and
fail where CI is set.
"""

import os
import re
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from harness.commands import missing
from harness.deployed_operator import DeployedOperator
from harness.evidence import collect
from harness.gpu_nodes import Nodes, borrowed
from harness.images import build_operator, build_training
from harness.real_cluster import RealCluster, open_real_cluster
from harness.release import Release
from harness.requirements import require, what_lacks
from harness.scenes import open_scene
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from support.clusters.scene import Scene

START_SECONDS = 1800
CLUSTER = pytest.StashKey[RealCluster]()
EVIDENCE = pytest.StashKey[Path]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests time: the first one waits for images and a cluster."""
    for item in items:
        item.add_marker(pytest.mark.timeout(START_SECONDS))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep what the cluster is like when a test fails, and say where that is."""
    report = yield
    cluster = item.config.stash.get(CLUSTER, None)
    if report.failed and cluster is not None:
        folder = _evidence_folder(item.config) / re.sub(r"\W+", "-", item.name)
        collect(cluster, folder)
        report.sections.append(("evidence", f"logs, events and objects are in {folder}"))
    return report


def _evidence_folder(config: pytest.Config) -> Path:
    if EVIDENCE not in config.stash:
        config.stash[EVIDENCE] = Path(tempfile.mkdtemp(prefix="plimsoll-e2e-evidence-"))
    return config.stash[EVIDENCE]


@pytest.fixture(scope="session")
def evidence(request: pytest.FixtureRequest) -> Path:
    """The folder for what was measured, beside what is kept of tests that fail."""
    return _evidence_folder(request.config)


@pytest.fixture(scope="session")
def helm() -> None:
    """Helm is there."""
    if missing(["helm"]):
        require("helm is not on PATH: https://helm.sh/docs/intro/install")


@pytest.fixture(scope="session")
def server() -> Iterator[ControlPlane]:
    """A control plane without nodes, of our own: definitions come and go in it."""
    with ControlPlane(find_programs(os.environ)) as control_plane:
        yield control_plane


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[RealCluster]:
    """The session's cluster."""
    require(what_lacks("kind", "kubectl", "helm"))
    with open_real_cluster(os.environ) as cluster:
        request.config.stash[CLUSTER] = cluster
        yield cluster
        del request.config.stash[CLUSTER]


@pytest.fixture(scope="session")
def image(cluster: RealCluster) -> str:
    """The project's image; PLIMSOLL_IMAGE is one that a given cluster can pull."""
    if given := os.environ.get("PLIMSOLL_IMAGE"):
        return given
    built = build_operator(os.environ)
    cluster.load(built)
    return built


@pytest.fixture(scope="session")
def trainer(cluster: RealCluster) -> str:
    """The image of workers that train."""
    image = build_training(os.environ)
    cluster.load(image)
    return image


@pytest.fixture(scope="session")
def release(cluster: RealCluster, image: str) -> Iterator[Release]:
    """The chart, installed."""
    release = Release(cluster.kubeconfig, image)
    release.install()
    yield release
    release.uninstall()


@pytest.fixture(scope="session")
def nodes(cluster: RealCluster) -> tuple[str, str]:
    """Two nodes that take pods."""
    found = cluster.workers()
    assert len(found) >= 2, f"two nodes without taints are needed, there are {found}"
    return found[0], found[1]


@pytest.fixture
def operator(release: Release) -> Iterator[DeployedOperator]:
    """The replicas of the operator; nothing may go wrong in them unseen."""
    operator = DeployedOperator(ApiServer(release.kubeconfig))
    yield operator
    assert not _complaints(operator)
    assert operator.metric("plimsoll_api_errors_total", error="Forbidden") == 0
    assert operator.metric("plimsoll_loop_errors_total") == 0


def _complaints(operator: DeployedOperator) -> list[dict[str, object]]:
    """What was logged of missing rights, and errors; that a server asks for patience is none."""
    return [
        line
        for line in operator.log_lines()
        if re.search(r"\b403\b|[Ff]orbidden", str(line))
        or (line.get("level") in ("error", "critical") and "will retry" not in str(line["event"]))
    ]


@pytest.fixture
def gpu_nodes(cluster: RealCluster, nodes: tuple[str, str]) -> Iterator[Nodes]:
    """The nodes; they and the cluster-wide objects are as before when the test is over."""
    with borrowed(cluster.api, nodes) as found:
        yield found


@pytest.fixture
def scene(gpu_nodes: Nodes, operator: DeployedOperator) -> Iterator[Scene]:
    """A namespace for a test, for which the deployed operator acts."""
    operator.leader()
    with open_scene(gpu_nodes.api) as found:
        yield found
