"""A real control plane for the session, and a namespace for each test.

Without a control plane these tests fail; they are never skipped.
"""

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster, open_cluster
from plimsoll_devcluster.crds import DEFINITIONS, install_crds
from plimsoll_devcluster.karpenter.process import Karpenter
from plimsoll_devcluster.leftovers import (
    cluster_collections,
    cluster_objects,
    remove_new_objects,
)
from plimsoll_devcluster.processes.console_process import ConsoleProcess
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.programs.karpenter_program import KARPENTER
from plimsoll_devcluster.programs.workload_controllers import find_controller
from plimsoll_devcluster.workload_controllers.controller import WorkloadController
from plimsoll_devcluster.workload_controllers.kinds import (
    APPWRAPPER,
    JOBSET,
    KUBERAY,
    TRAINER,
    TRAINING_OPERATOR,
    ControllerKind,
)
from support.clusters.cluster_autoscaler import its_kind
from support.clusters.scene import Scene
from support.clusters.tenants import beside, fresh_namespace
from support.objects.http_routes import CRDS as ROUTE_CRDS

CRDS = Path(__file__).parents[2] / "crds"
LINES_OF_LOG = 60
CONTROLLERS = {
    "jobset_controller",
    "trainer_controller",
    "training_operator",
    "kuberay_operator",
    "appwrapper_controller",
    "karpenter_process",
}
BUILD_SECONDS = 1800


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Function, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the operator, the console and Karpenter logged last to a failed test's report."""
    report = yield
    if report.failed and call.when == "call":
        for name in ("operator", "console", "karpenter"):
            process = item.funcargs.get(name)
            if isinstance(process, OperatorProcess | ConsoleProcess | Karpenter):
                last = process.log.read_text(errors="replace").splitlines()[-LINES_OF_LOG:]
                report.sections.append((f"What {name} logged", "\n".join(last)))
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests take as long as a build takes, if they are the first ones to need a controller."""
    for item in items:
        if CONTROLLERS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.timeout(BUILD_SECONDS))


@pytest.fixture(scope="session")
def control_plane() -> Iterator[Cluster]:
    """The session's cluster, with our custom resources."""
    with open_cluster(os.environ) as cluster:
        install_crds(cluster.api, CRDS)
        yield cluster


@pytest.fixture(scope="session")
def collections(control_plane: Cluster) -> Sequence[str]:
    """The kinds of objects that tests add cluster-wide."""
    return cluster_collections(control_plane.api)


@pytest.fixture
def api(
    control_plane: Cluster, collections: Sequence[str], request: pytest.FixtureRequest
) -> Iterator[ApiServer]:
    """A connection; what the test adds cluster-wide (nodes, queues, ...) is removed after it.

    A module that says STORES_NOTHING, as it only asks what would be stored, leaves nothing.
    """
    control_plane.check()
    if _stores_nothing(request):
        yield control_plane.api
        return
    before = cluster_objects(control_plane.api, collections)
    yield control_plane.api
    remove_new_objects(control_plane.api, before, collections)


@pytest.fixture
def namespace(api: ApiServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh namespace in which pods can be created; one for all of STORES_NOTHING."""
    if _stores_nothing(request):
        yield request.getfixturevalue("untouched_namespace")
        return
    with fresh_namespace(api, "test") as name:
        yield name


@pytest.fixture(scope="module")
def untouched_namespace(control_plane: Cluster) -> Iterator[str]:
    """A namespace for the tests of a module that store nothing in it."""
    with fresh_namespace(control_plane.api, "test") as name:
        yield name


@pytest.fixture(scope="module")
def operator(control_plane: Cluster, request: pytest.FixtureRequest) -> Iterator[OperatorProcess]:
    """One replica of the operator that acts for all tests of a module; it leads when they begin.

    What a module calls OPERATOR_ENVIRONMENT is added to its environment.
    """
    module = cast("object", request.module)  # pyright: ignore[reportUnknownMemberType] - untyped
    environment: Mapping[str, str] | None = getattr(module, "OPERATOR_ENVIRONMENT", None)
    with forked_operator(control_plane.kubeconfig, environment) as process:
        yield process
        assert process.stop() == 0


@pytest.fixture
def scene(api: ApiServer, namespace: str, operator: OperatorProcess) -> Iterator[Scene]:
    """A namespace in a cluster without nodes of others, for which the operator acts.

    The nodes, queues and so on that the test adds go with it.
    """
    yield Scene(api, namespace, operator)
    if not operator.is_running():
        operator.start()


@pytest.fixture(scope="module")
def jobset_controller(control_plane: Cluster) -> Iterator[WorkloadController]:
    """JobSet's own controller, for all tests of a module."""
    with _controller(JOBSET, control_plane) as controller:
        yield controller


@pytest.fixture(scope="module")
def trainer_controller(
    control_plane: Cluster,
    jobset_controller: WorkloadController,  # noqa: ARG001 - runs TrainJobs as JobSets
) -> Iterator[WorkloadController]:
    """Kubeflow Trainer's own controller, for all tests of a module."""
    with _controller(TRAINER, control_plane) as controller:
        yield controller


@pytest.fixture(scope="module")
def training_operator(control_plane: Cluster) -> Iterator[WorkloadController]:
    """Kubeflow's training operator for PyTorchJobs, for all tests of a module."""
    with _controller(TRAINING_OPERATOR, control_plane) as controller:
        yield controller


@pytest.fixture(scope="module")
def kuberay_operator(control_plane: Cluster) -> Iterator[WorkloadController]:
    """KubeRay for RayClusters and RayJobs, for all tests of a module."""
    with _controller(KUBERAY, control_plane) as controller:
        yield controller


@pytest.fixture(scope="module")
def appwrapper_controller(control_plane: Cluster) -> Iterator[WorkloadController]:
    """AppWrapper's own controller, for all tests of a module."""
    with _controller(APPWRAPPER, control_plane) as controller:
        yield controller


@pytest.fixture(scope="module")
def all_controllers(
    trainer_controller: object,
    training_operator: object,
    kuberay_operator: object,
    appwrapper_controller: object,
) -> None:
    """The controllers of all kinds of workloads that we know, for all tests of a module."""
    del trainer_controller, training_operator, kuberay_operator, appwrapper_controller


@pytest.fixture(scope="module")
def karpenter_process(control_plane: Cluster) -> Iterator[Karpenter]:
    """Karpenter itself, for all tests of a module."""
    folder = find_controller(KARPENTER, os.environ)
    with Karpenter(folder, control_plane.kubeconfig) as process:
        yield process


@pytest.fixture(scope="module")
def provisioning_requests(control_plane: Cluster) -> Iterator[None]:
    """The kind by which cluster-autoscaler is asked for nodes, for all tests of a module."""
    with its_kind(control_plane.api):
        yield


@pytest.fixture(scope="module")
def http_routes(control_plane: Cluster) -> Iterator[None]:
    """The kind of the Gateway API by which requests are routed, for all tests of a module."""
    (name,) = install_crds(control_plane.api, ROUTE_CRDS)
    yield
    control_plane.api.delete(f"{DEFINITIONS}/{name}")


@pytest.fixture
def karpenter(karpenter_process: Karpenter) -> Iterator[Karpenter]:
    """Karpenter, whose cloud has all instances; what it has made is removed after the test.

    Name it before a fixture whose objects ask for nodes, so that these are gone before.
    """
    yield karpenter_process
    karpenter_process.clear()
    if not karpenter_process.is_running():
        karpenter_process.start()


@pytest.fixture
def hostile(scene: Scene) -> Iterator[Scene]:
    """Another tenant's namespace of the same cluster."""
    with beside(scene, "hostile") as neighbour:
        yield neighbour


def _stores_nothing(request: pytest.FixtureRequest) -> bool:
    module = cast("object", request.module)  # pyright: ignore[reportUnknownMemberType] - untyped
    return getattr(module, "STORES_NOTHING", False)


def _controller(kind: ControllerKind, cluster: Cluster) -> WorkloadController:
    folder = find_controller(kind.program, os.environ)
    return WorkloadController(kind, folder, cluster.kubeconfig)
