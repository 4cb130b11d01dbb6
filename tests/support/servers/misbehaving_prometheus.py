"""A server in the place of Prometheus that answers as it is told, for what Prometheus never does.

How a true Prometheus answers is tested with a true one.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat

VECTOR = b'{"status": "success", "data": {"resultType": "vector", "result": []}}'


@dataclass
class Behaviour:
    """What it answers, and what it was asked: paths and Authorization headers."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = VECTOR
    body_of: Callable[[str], bytes] | None = None
    status_of: Callable[[str], int] | None = None
    endless: bool = False
    silent: threading.Event | None = None
    hangs_up: bool = False
    paths: list[str] = field(default_factory=list[str])
    authorizations: list[str | None] = field(default_factory=list[str | None])
    url: str = ""


@contextmanager
def misbehaving_prometheus() -> Generator[Behaviour]:
    """Serve on loopback until the block ends."""
    behaviour = Behaviour()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            behaviour.paths.append(self.path)
            behaviour.authorizations.append(self.headers.get("Authorization"))
            if behaviour.silent:
                behaviour.silent.wait(30)
            if behaviour.hangs_up:
                self.close_connection = True
                return
            self.send_response(
                behaviour.status_of(self.path) if behaviour.status_of else behaviour.status
            )
            for name, value in behaviour.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                body = behaviour.body_of(self.path) if behaviour.body_of else behaviour.body
                for chunk in repeat(body) if behaviour.endless else [body]:
                    self.wfile.write(chunk)
            except OSError:
                return  # whoever asked has had enough

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    behaviour.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield behaviour
    finally:
        if behaviour.silent:
            behaviour.silent.set()
        server.shutdown()
        thread.join()
        server.server_close()
