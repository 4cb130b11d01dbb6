"""A receiver of the console's notifications: it verifies each signature, and keeps the events."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook


@dataclass
class EventReceiver:
    """Where events go, and those that came."""

    url: str = ""
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def told(self) -> list[tuple[str, str]]:
        """The type and subject of each event, in the order in which they came."""
        return [(each["type"].rpartition(".")[2], each["subject"]) for each in self.events]


@contextmanager
def event_receiver(secret: str) -> Generator[EventReceiver]:
    """Receive on loopback until the block ends; unsigned events are refused."""
    receiver, verifier = EventReceiver(), Webhook(secret)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.events.append(verifier.verify(body, dict(self.headers.items())))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
