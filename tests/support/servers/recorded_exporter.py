"""An exporter that serves what another wrote: counters grow by their recorded value a second."""

import re
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

RECORDED = Path(__file__).parent / "recorded"
_TYPE = re.compile(r"# TYPE (\S+) (\S+)")
_SAMPLE = re.compile(r"(?P<name>[^\s{]+)(?P<labels>{.*})? (?P<value>\S+)$")
_OF_HISTOGRAM = re.compile(r"_(bucket|sum|count)$")


class RecordedExporter:
    """The exposition of `text` at a time; from `since` on its counters count."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._growing = {
            found[1] for line in self._lines if (found := _TYPE.match(line)) and found[2] != "gauge"
        }
        self.address = ""
        self.since = time.monotonic()
        self.more = ""
        """Exposition that is added as it is."""

    def exposition(self) -> str:
        """What is served now."""
        seconds = time.monotonic() - self.since
        return "".join(f"{self._grown(line, seconds)}\n" for line in self._lines) + self.more

    def _grown(self, line: str, seconds: float) -> str:
        found = _SAMPLE.match(line)
        if found is None or line.startswith("#"):
            return line
        grows = {found["name"], _OF_HISTOGRAM.sub("", found["name"])} & self._growing
        value = float(found["value"]) * (seconds if grows else 1)
        return f"{found['name']}{found['labels'] or ''} {value!r}"


@contextmanager
def recorded_exporter(name: str, *, namespace: str = "") -> Generator[RecordedExporter]:
    """Serve the recorded text of this name on loopback until the block ends."""
    text = (RECORDED / f"{name}.txt").read_text().replace("NAMESPACE", namespace)
    exporter = RecordedExporter(text)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = exporter.exposition().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    exporter.address = f"127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield exporter
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
