"""Stands in for a service's users: it sends requests at a rate, whether or not earlier ones return.

GET /rate/12 has it send twelve a second to URL from now on, 0 none; the answer, like that of /, is
what has become of all so far, as JSON. Most take 0.3 s to answer, each twentieth 4 s, as a stream
would. It needs the standard library only.
"""

import http.server
import json
import os
import socket
import threading
import time
import urllib.parse
import urllib.request

PATIENCE_SECONDS = 150
SHORT_SECONDS = 0.3
LONG_SECONDS = 4.0
EACH_LONG = 20
MOST_REASONS = 5


class Traffic:
    """What was sent at each rate, and what has become of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._rate = 0.0
        self._parts: list[dict[str, float]] = []
        self._reasons: list[str] = []

    def send_at(self, rate: float) -> None:
        """Send so many requests a second from now on."""
        with self._lock:
            self._rate = rate
            self._parts.append({"rate": rate, "sent": 0, "answered": 0, "failed": 0})
        self._changed.set()

    def said(self) -> str:
        """What has become of all requests."""
        with self._lock:
            parts = [{k: v for k, v in part.items() if k != "began"} for part in self._parts]
            return json.dumps({"parts": parts, "reasons": self._reasons})

    def run(self) -> None:
        """Send until killed."""
        number = 0
        while True:
            with self._lock:
                self._changed.clear()
                rate = self._rate
                if rate:
                    number += 1
                    part = self._parts[-1]
                    part["sent"] += 1
                    part.setdefault("began", time.monotonic())
                    threading.Thread(target=self._ask, args=(number, part), daemon=True).start()
            self._changed.wait(1 / rate if rate else None)

    def _ask(self, number: int, part: dict[str, float]) -> None:
        seconds = LONG_SECONDS if number % EACH_LONG == 0 else SHORT_SECONDS
        began = time.monotonic()
        try:
            url = f"{os.environ['URL']}/wait/{seconds}"
            with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:  # noqa: S310 - http
                answer.read()
            reason = ""
        except OSError as error:
            reason = str(error)
        waited = time.monotonic() - began - seconds
        with self._lock:
            part["failed" if reason else "answered"] += 1
            if not reason:
                part.setdefault("first_answer_seconds", time.monotonic() - part["began"])
            part["most_waited"] = max(part.get("most_waited", 0.0), waited)
            if reason and len(self._reasons) < MOST_REASONS:
                self._reasons.append(reason)


TRAFFIC = Traffic()


class Handler(http.server.BaseHTTPRequestHandler):
    """Takes the rate, and says what has become of requests."""

    def do_GET(self) -> None:
        """Change the rate if told to; what has become of all."""
        if self.path.startswith("/rate/"):
            TRAFFIC.send_at(float(self.path.rpartition("/")[2]))
        body = TRAFFIC.said().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - same
        """Say nothing of requests."""


def reaches(host: str, port: int) -> bool:
    """Whether something listens there."""
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError:
        return False
    return True


def main() -> None:
    """Send and listen until killed, once URL can be reached."""
    address = urllib.parse.urlsplit(os.environ["URL"])
    while not reaches(address.hostname or "", address.port or 80):
        time.sleep(0.1)
    threading.Thread(target=TRAFFIC.run, daemon=True).start()
    http.server.ThreadingHTTPServer(("", 8000), Handler).serve_forever()


if __name__ == "__main__":
    main()
