"""How an Envoy is set that stands in front of services, as Kubernetes sees it: by their addresses.

A Service's address refuses connections while it has no replica; routes try again until one is
there, so their requests wait. Routes and clusters are what Envoy Gateway 1.9.1 makes of the
BackendTrafficPolicy in docs/guides/prometheus.md (`egctl experimental translate`), but try again
sooner. Statistics are at /metrics of a port of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PATIENCE = "120s"
AGAIN = {"base_interval": "0.1s", "max_interval": "0.5s"}
TIMES = 1000
AT_A_TIME = 1024
OTHER_HOSTS_FIRST = {
    "name": "envoy.retry_host_predicates.previous_hosts",
    "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3"
        ".PreviousHostsPredicate"
    },
}
_TYPE = "type.googleapis.com/envoy.extensions.filters"
_ADMIN = "admin"
SERVING = "serving"
"""What its statistics call the listener that takes requests."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Where it listens, and its own administration on loopback."""

    serving: int
    statistics: int
    admin: int
    host: str = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Front:
    """What it passes on: by path, the name of a cluster; and each cluster's IP address, if any."""

    routes: Mapping[str, str]
    clusters: Mapping[str, tuple[str, int] | None] = field(
        default_factory=dict[str, tuple[str, int] | None]
    )


def envoy_config(front: Front, ports: Ports) -> dict[str, Any]:
    """Its configuration, whose JSON it reads."""
    statistics = {
        "match": {"path": "/metrics"},
        "route": {"cluster": _ADMIN, "prefix_rewrite": "/stats/prometheus"},
    }
    served = [_route(path, cluster) for path, cluster in front.routes.items()]
    clusters = {**front.clusters, _ADMIN: ("127.0.0.1", ports.admin)}
    return {
        "admin": {"address": _address("127.0.0.1", ports.admin)},
        "static_resources": {
            "listeners": [
                _listener(SERVING, _address(ports.host, ports.serving), served),
                _listener("statistics", _address(ports.host, ports.statistics), [statistics]),
            ],
            "clusters": [_cluster(name, at) for name, at in clusters.items()],
        },
    }


def _route(path: str, cluster: str) -> dict[str, Any]:
    again = {
        "retry_on": "connect-failure",
        "num_retries": TIMES,
        "retry_back_off": AGAIN,
        "retry_host_predicate": [OTHER_HOSTS_FIRST],
        "host_selection_retry_max_attempts": 5,
    }
    route = {"cluster": cluster, "timeout": PATIENCE, "retry_policy": again}
    return {"match": {"prefix": path}, "route": route}


def _listener(name: str, address: dict[str, Any], routes: list[dict[str, Any]]) -> dict[str, Any]:
    router = {"@type": f"{_TYPE}.http.router.v3.Router"}
    manager = {
        "@type": f"{_TYPE}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": name,
        "http_filters": [{"name": "envoy.filters.http.router", "typed_config": router}],
        "route_config": {
            "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}],
        },
    }
    chain = {"filters": [{"name": "http", "typed_config": manager}]}
    return {"name": name, "address": address, "filter_chains": [chain]}


def _cluster(name: str, at: tuple[str, int] | None) -> dict[str, Any]:
    endpoints = [] if at is None else [{"endpoint": {"address": _address(*at)}}]
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "10s",
        "circuit_breakers": {"thresholds": [{"max_retries": AT_A_TIME}]},
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": endpoints}] if endpoints else [],
        },
    }


def _address(host: str, port: int) -> dict[str, Any]:
    return {"socket_address": {"address": host, "port_value": port}}
