"""What the tests of the kube room share: the cluster as our own client sees it."""

import os
from pathlib import Path

import pytest

from plimsoll.kube.http.credentials import Endpoint, endpoint
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import add_nodes, fake_node
from plimsoll_devcluster.programs.control_plane_programs import find_programs


@pytest.fixture
def server(control_plane: Cluster) -> Endpoint:
    """The API server, and how it learns who asks."""
    control_plane.check()
    return endpoint(control_plane.kubeconfig)


@pytest.fixture
def a_node(api: ApiServer) -> str:
    """The name of a node that is ready."""
    add_nodes(api, [fake_node("node-of-test")])
    return "node-of-test"


@pytest.fixture(scope="session")
def kubectl() -> Path:
    """The program that users look at the cluster with."""
    return find_programs(os.environ) / "kubectl"
