"""Stands in for the gateway in front of a service: it holds requests while no replica is ready.

It passes GET requests on to BACKEND, a Service's `host:port`. Only an attempt to connect is
repeated, so a request reaches one replica at most; one that breaks off there is lost (502). GET
/metrics on port 9000 counts the requests that came, and those that are held. It needs the standard
library only.
"""

import contextlib
import http.client
import http.server
import os
import threading
import time

HELD_SECONDS = 120
AGAIN_SECONDS = 0.05
METRICS_PORT = 9000


class Counts:
    """Requests that came, and those that wait for a connection."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._came = self._held = 0

    def come(self) -> None:
        """Count a request, which is held."""
        with self._lock:
            self._came += 1
            self._held += 1

    def let_go(self) -> None:
        """Count it as held no more."""
        with self._lock:
            self._held -= 1

    def text(self) -> str:
        """All counts, for Prometheus."""
        return f"gateway_requests_total {self._came}\ngateway_requests_held {self._held}\n"


COUNTS = Counts()


class Server(http.server.ThreadingHTTPServer):
    """One that many clients can call at once."""

    request_queue_size = 512


class Gateway(http.server.BaseHTTPRequestHandler):
    """Passes requests on."""

    def do_GET(self) -> None:
        """Pass it on, and the answer back."""
        COUNTS.come()
        try:
            backend = connected()
        finally:
            COUNTS.let_go()
        status, body = (503, b"") if backend is None else answer(backend, self.path)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - same
        """Say nothing of requests."""


class Metrics(http.server.BaseHTTPRequestHandler):
    """Answers everything with the counts."""

    def do_GET(self) -> None:
        """The counts."""
        body = COUNTS.text().encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - same
        """Say nothing of requests."""


def connected() -> http.client.HTTPConnection | None:
    """A connection to a replica; None if there is none for long."""
    until = time.monotonic() + HELD_SECONDS
    while time.monotonic() < until:
        backend = http.client.HTTPConnection(os.environ["BACKEND"], timeout=5)
        with contextlib.suppress(OSError):
            backend.connect()
            backend.sock.settimeout(HELD_SECONDS)
            return backend
        time.sleep(AGAIN_SECONDS)
    return None


def answer(backend: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
    """What a replica answers; 502 where it does not."""
    try:
        backend.request("GET", path)
        response = backend.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException):
        return 502, b""
    finally:
        backend.close()


def main() -> None:
    """Serve until killed."""
    metrics = Server(("", METRICS_PORT), Metrics)
    threading.Thread(target=metrics.serve_forever, daemon=True).start()
    Server(("", int(os.environ.get("PORT", "8000"))), Gateway).serve_forever()


if __name__ == "__main__":
    main()
