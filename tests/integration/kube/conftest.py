"""What the tests of the kube room share: the cluster as our own client sees it."""

import pytest

from plimsoll.kube.credentials import Endpoint, endpoint
from plimsoll_devcluster.cluster import Cluster


@pytest.fixture
def server(control_plane: Cluster) -> Endpoint:
    """The API server, and how it is told who asks."""
    control_plane.check()
    return endpoint(control_plane.kubeconfig)
