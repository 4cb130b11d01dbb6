"""A real API server serves HTTPRoutes, and their weights follow a service's replicas."""

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100, L4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene
from support.objects.http_routes import API_VERSION, a_route, weights
from support.objects.job_manifests import an_inference_job

OPERATOR_ENVIRONMENT = {"PLIMSOLL_WEIGHS_ROUTES": "true"}
BACKENDS = f"big={H100}, small={L4}"
EQUAL = {"big": 1, "small": 1}


pytestmark = pytest.mark.usefixtures("http_routes")


def path(scene: Scene) -> str:
    return f"/apis/{API_VERSION}/namespaces/{scene.namespace}/httproutes/chat"


def create(scene: Scene, route: Manifest) -> None:
    scene.api.create(path(scene).removesuffix("/chat"), route)


def until_weights(scene: Scene, *rules: dict[str, int]) -> None:
    wait_until(
        lambda: weights(scene.api.get(path(scene))) == list(rules),
        timeout_seconds=scene.patience_seconds,
        what=f"the route has weights {rules}",
    )


def a_mixed_service(scene: Scene, *, h100: int, l4: int) -> Manifest:
    """A service that fills a node of either type."""
    scene.add_nodes(fake_node("h", H100, h100), fake_node("l", L4, l4))
    job = an_inference_job("serve", replicas=h100 + l4, loads={H100: 9, L4: 3})
    scene.apply(job)
    return job


def test_weights_follow_the_replicas(scene: Scene) -> None:
    create(scene, a_route(EQUAL, {"big": 3, "canary": 7}, backends=BACKENDS))
    job = a_mixed_service(scene, h100=1, l4=2)
    until_weights(scene, {"big": 100, "small": 70}, {"big": 100, "canary": 7})
    role = {**job["spec"]["roles"][0], "replicas": {"min": 1, "max": 1}}
    scene.edit(job, {"roles": [role]})
    until_weights(scene, {"big": 100, "small": 0}, {"big": 100, "canary": 7})


def test_what_somebody_else_has_set_is_set_right(scene: Scene) -> None:
    create(scene, a_route(EQUAL, backends=BACKENDS))
    a_mixed_service(scene, h100=1, l4=1)
    until_weights(scene, {"big": 100, "small": 35})
    scene.api.merge(path(scene), {"spec": a_route(EQUAL)["spec"]})
    until_weights(scene, {"big": 100, "small": 35})


@pytest.mark.slow
def test_a_route_that_does_not_ask_keeps_its_weights(scene: Scene, api: ApiServer) -> None:
    create(scene, a_route(EQUAL, of=None))
    asking = a_route(EQUAL, backends=BACKENDS)
    asking["metadata"]["name"] = "asks"
    create(scene, asking)
    a_mixed_service(scene, h100=1, l4=1)
    asked = path(scene).replace("/chat", "/asks")
    wait_until(
        lambda: weights(api.get(asked)) != [EQUAL],
        timeout_seconds=scene.patience_seconds,
        what="the route that asks has other weights",
    )
    assert weights(api.get(path(scene))) == [EQUAL]


def test_a_route_that_cannot_be_followed_says_why_and_costs_no_other(scene: Scene) -> None:
    wrong = a_route(EQUAL, backends="big=H100; small=L4")
    wrong["metadata"]["name"] = "wrong"
    create(scene, wrong)
    create(scene, a_route(EQUAL, backends=BACKENDS))
    a_mixed_service(scene, h100=1, l4=1)
    until_weights(scene, {"big": 100, "small": 35})
    (said,) = scene.events(wrong, "RouteNotWeighted")
    assert "has 'big=H100; small=L4', which is not BACKEND=GPU-TYPE" in said["note"]
