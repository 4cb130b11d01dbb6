"""Our own tools: the control plane starts, plays nodes and pods, and leaves nothing behind."""

from plimsoll_devcluster.api_server import ApiServer


def test_namespace_fixture_gives_a_place_for_pods(api: ApiServer, namespace: str) -> None:
    assert api.exists(f"/api/v1/namespaces/{namespace}/serviceaccounts/default")
