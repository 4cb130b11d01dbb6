"""HTTPRoutes of the Gateway API, reduced to what refers to backends, and what their owners ask."""

from typing import Final

from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.objects import KubeObject, Wire
from plimsoll.kube.objects.workload_parts import WorkloadMeta
from plimsoll.observe.labels import BACKENDS, WEIGHTS_OF

HTTP_ROUTES: Final = Resource("gateway.networking.k8s.io", "v1", "httproutes")
KIND: Final = "HTTPRoute"


class BackendRef(Wire, frozen=True):
    """What a rule sends requests to, and how much of them, in proportion to the others."""

    name: str = ""
    weight: int = 1


class RouteRule(Wire, frozen=True):
    """Requests that match, and where they go."""

    backend_refs: tuple[BackendRef, ...] = ()


class RouteSpec(Wire, frozen=True):
    """The rules of a route."""

    rules: tuple[RouteRule, ...] = ()


class HTTPRoute(KubeObject, frozen=True):
    """A route."""

    metadata: WorkloadMeta = WorkloadMeta()
    spec: RouteSpec = RouteSpec()


def if_asking(route: HTTPRoute) -> HTTPRoute | None:
    """The route, with no annotations but ours, if its owner asks for weights; otherwise None."""
    notes = route.metadata.annotations
    own = {key: notes[key] for key in (WEIGHTS_OF, BACKENDS) if key in notes}
    if not own:
        return None
    meta = WorkloadMeta(
        name=route.metadata.name,
        namespace=route.metadata.namespace,
        uid=route.metadata.uid,
        resource_version=route.metadata.resource_version,
        annotations=own,
    )
    return HTTPRoute(metadata=meta, spec=route.spec)
