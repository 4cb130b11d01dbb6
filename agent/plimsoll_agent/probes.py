"""The agent's HTTP probes and metrics: /healthz, /readyz and /metrics."""

import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from plimsoll_agent.metrics import REGISTRY

Probe = Callable[[], str]
"""What is wrong, in words; "" when all is well."""


def serve(host: str, port: int, *, alive: Probe, ready: Probe) -> int:
    """Serve from now on, in a thread that ends with the process; return the port."""

    class Handler(_Handler):
        probes: ClassVar = {"/healthz": alive, "/readyz": ready}

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="probes", daemon=True).start()
    return int(server.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    timeout = 10  # a client that sends nothing holds a thread for no longer
    probes: ClassVar[dict[str, Probe]] = {}

    def do_GET(self) -> None:
        """Answer one request."""
        if self.path == "/metrics":
            self._say(HTTPStatus.OK, generate_latest(REGISTRY), CONTENT_TYPE_LATEST)
        elif probe := self.probes.get(self.path):
            problem = probe()
            status = HTTPStatus.SERVICE_UNAVAILABLE if problem else HTTPStatus.OK
            self._say(status, (problem or "ok").encode(), "text/plain; charset=utf-8")
        else:
            self._say(HTTPStatus.NOT_FOUND, b"", "text/plain")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
        """Do not log probes: there is one every few seconds."""

    def _say(self, status: HTTPStatus, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
