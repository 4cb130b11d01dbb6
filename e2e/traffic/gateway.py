"""A real Envoy in front of a service, at the address of its Service.

While the service has no replica, connections there are refused; Envoy tries again, and so holds
requests.
"""

import json
from pathlib import Path
from typing import Final

from plimsoll_devcluster.manifest import Manifest
from support.servers.envoy_config import SERVING, Front, Ports, envoy_config
from support.servers.envoy_program import find_envoy
from traffic.machine_program import container_with, volume

PORT, STATISTICS_PORT = 8000, 9000
_PORTS: Final = Ports(PORT, STATISTICS_PORT, admin=9001, host="0.0.0.0")  # noqa: S104 - in a pod
_LISTENER: Final = f'envoy_http_conn_manager_prefix="{SERVING}"'


def requests_come(window: str) -> str:
    """The query for requests a second that come to it."""
    return f"sum(rate(envoy_http_downstream_rq_total{{{_LISTENER}}}[{window}]))"


def requests_held(backend: str) -> str:
    """The query for requests that are not at a replica."""
    at_replicas = f'sum(envoy_cluster_upstream_rq_active{{envoy_cluster_name="{backend}"}})'
    return f"sum(envoy_http_downstream_rq_active{{{_LISTENER}}}) - {at_replicas}"


def gateway_pod(name: str, backend: Manifest, *, image: str, shared: Path) -> Manifest:
    """Envoy as a pod that passes requests on to a Service, which is there."""
    cluster = backend["metadata"]["name"]
    front = Front({"/": cluster}, {cluster: (backend["spec"]["clusterIP"], PORT)})
    arguments = ["--config-yaml", json.dumps(envoy_config(front, _PORTS)), "--concurrency", "1"]
    container = container_with(find_envoy(), arguments, image=image, shared=shared)
    container["readinessProbe"] = {"tcpSocket": {"port": PORT}, "periodSeconds": 1}
    spec = {
        "containers": [container],
        "volumes": [volume()],
        "terminationGracePeriodSeconds": 0,
    }
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": spec}
