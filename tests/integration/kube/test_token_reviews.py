from prometheus_client import REGISTRY

from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import endpoint
from plimsoll.kube.tokens.claims import PodIdentity, claims_of
from plimsoll.kube.tokens.reviews import PODS, TokenReviews
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.manifest import Manifest
from support.programs.asynchronous import asynchronous

SHORTEST_SECONDS = 600
"""The API server makes no tokens that are good for less."""


def reviews() -> float:
    labels = {"verb": "create", "resource": "tokenreviews"}
    return REGISTRY.get_sample_value("plimsoll_api_writes_total", labels) or 0.0


def a_pod(api: ApiServer, namespace: str) -> Manifest:
    spec = {"containers": [{"name": "main", "image": "none"}]}
    return api.create(
        f"/api/v1/namespaces/{namespace}/pods", {"metadata": {"name": "pod"}, "spec": spec}
    )


def a_token(api: ApiServer, pod: Manifest) -> str:
    meta = pod["metadata"]
    bound = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
    spec = {
        "audiences": ["plimsoll.dev"],
        "expirationSeconds": SHORTEST_SECONDS,
        "boundObjectRef": bound,
    }
    path = f"/api/v1/namespaces/{meta['namespace']}/serviceaccounts/default/token"
    return api.create(path, {"spec": spec})["status"]["token"]


@asynchronous
async def test_an_answer_is_remembered_no_longer_than_the_token_is_good(
    control_plane: Cluster, api: ApiServer, namespace: str
) -> None:
    pod = a_pod(api, namespace)
    token = a_token(api, pod)
    passed = 0.0
    claims = claims_of(token, 0)
    assert claims is not None
    five_seconds_before = claims.expires_at - 5
    async with KubeClient.to(endpoint(control_plane.kubeconfig)) as client:
        known = TokenReviews(client, PODS, clock=lambda: passed, now=lambda: five_seconds_before)
        found = await known.bearer_of(token)
        assert found == PodIdentity(namespace, "pod", pod["metadata"]["uid"])
        asked = reviews()
        passed = 4.9
        assert await known.bearer_of(token) == found
        assert reviews() == asked
        passed = 5.1
        assert await known.bearer_of(token) == found
        assert reviews() == asked + 1
        passed = 0.0
        young = TokenReviews(client, PODS, clock=lambda: passed)
        await young.bearer_of(token)
        passed = 119.0
        await young.bearer_of(token)
        assert reviews() == asked + 2
