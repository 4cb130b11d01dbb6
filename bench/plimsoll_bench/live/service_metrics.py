"""Metrics for the HPA: a custom metrics API in front of a Prometheus, like an adapter.

Metrics of Services: there can be one API of external metrics only, and that is KEDA's.

It is an aggregated API of a real API server, which forwards requests for it to loopback.
"""

import json
import ssl
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import urllib3

from plimsoll.kube.objects.times import rfc3339
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until

GROUP = "custom.metrics.k8s.io"
VERSION = f"{GROUP}/v1beta2"


@contextmanager
def service_metrics(
    api: ApiServer, prometheus: str, queries: Mapping[str, str], certificates: Path
) -> Generator[None]:
    """Serve each query as a metric of its name of any Service, until the block ends.

    `certificates`: a folder with the certificate and key of a server on loopback.
    """
    http = urllib3.PoolManager(retries=False, timeout=5)

    def value(metric: str) -> float | None:
        try:
            answer = http.request(
                "GET", f"{prometheus}/api/v1/query", fields={"query": queries[metric]}
            )
        except urllib3.exceptions.HTTPError:
            return None  # without an answer an HPA stays as it is
        found = answer.json()["data"]["result"]
        return float(found[0]["value"][1]) if found else None

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.split("?", maxsplit=1)[0]
            name = path.rsplit("/", maxsplit=1)[-1]
            content = _list(path, value(name)) if name in queries else _resources(queries)
            body = json.dumps(content).encode()
            self.send_response(200 if self.path.startswith(f"/apis/{GROUP}") else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "apiserver.crt", certificates / "apiserver.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    _register(api, server.server_port)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def _register(api: ApiServer, port: int) -> None:
    api.apply(
        "/api/v1/namespaces/default/services/custom-metrics",
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "custom-metrics"},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        },
    )
    path = f"/apis/apiregistration.k8s.io/v1/apiservices/v1beta2.{GROUP}"
    service = {"namespace": "default", "name": "custom-metrics", "port": port}
    spec = {
        "group": GROUP,
        "version": "v1beta2",
        "service": service,
        "insecureSkipTLSVerify": True,
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
    }
    head = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
    api.apply(path, {**head, "metadata": {"name": f"v1beta2.{GROUP}"}, "spec": spec})
    wait_until(
        lambda: any(
            c["type"] == "Available" and c["status"] == "True"
            for c in api.get(path).get("status", {}).get("conditions", [])
        ),
        timeout_seconds=60,
        what="the API of custom metrics is available",
    )


def _resources(queries: Mapping[str, str]) -> Manifest:
    kind = {"kind": "MetricValueList", "namespaced": True, "singularName": ""}
    resources = [{"name": f"services/{name}", "verbs": ["get"], **kind} for name in queries]
    head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": VERSION}
    return {**head, "resources": resources}


def _list(path: str, value: float | None) -> Manifest:
    """The answer to a path that ends with `namespaces/NAMESPACE/services/SERVICE/METRIC`."""
    namespace, _, service, metric = path.split("/")[-4:]
    item = {
        "describedObject": {
            "apiVersion": "v1",
            "kind": "Service",
            "namespace": namespace,
            "name": service,
        },
        "metric": {"name": metric},
        "timestamp": rfc3339(datetime.now(UTC)),
        "value": f"{int((value or 0) * 1000)}m",
    }
    items = [] if value is None else [item]
    return {"kind": "MetricValueList", "apiVersion": VERSION, "metadata": {}, "items": items}
