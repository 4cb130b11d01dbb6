"""A Prometheus as a child of this process, on loopback, which leaves nothing behind."""

import json
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import urllib3

from plimsoll_devcluster import ending
from plimsoll_devcluster.child import Child
from plimsoll_devcluster.credentials import write_secret
from plimsoll_devcluster.waiting import wait_until

START_SECONDS = 60.0
SCRAPE_INTERVAL = "500ms"


class PrometheusFailedError(Exception):
    """Prometheus has ended; the message ends with its last lines."""


class PrometheusServer:
    """Prometheus, which scrapes the exporters at `targets` every half second.

    Their job is called `dcgm-exporter`; `web_config` is that of its own server (users, TLS). Start
    it, stop it, start it again: it keeps its address and its data.
    """

    def __init__(
        self,
        program: Path,
        targets: Sequence[str],
        *,
        web_config: dict[str, Any] | None = None,
    ) -> None:
        self._program = program
        self._folder = tempfile.TemporaryDirectory(prefix="plimsoll-prometheus-")
        self._path = Path(self._folder.name)
        self._port = _free_port()
        self._web_config = web_config or {}
        self._child: Child | None = None
        self._http = urllib3.PoolManager(retries=False, timeout=5)
        # Both are YAML, of which JSON is a part.
        job = {"job_name": "dcgm-exporter", "static_configs": [{"targets": list(targets)}]}
        timing = {"scrape_interval": SCRAPE_INTERVAL, "scrape_timeout": SCRAPE_INTERVAL}
        self._write("prometheus.yml", {"global": timing, "scrape_configs": [job]})
        self._write("web.yml", self._web_config)

    @property
    def url(self) -> str:
        """Where it is asked."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> Self:
        """Start it, and wait until it answers queries. Raises PrometheusFailedError."""
        self._child = Child(
            [
                str(self._program),
                f"--config.file={self._path / 'prometheus.yml'}",
                f"--web.config.file={self._path / 'web.yml'}",
                f"--web.listen-address=127.0.0.1:{self._port}",
                f"--storage.tsdb.path={self._path / 'data'}",
            ],
            self._path / "prometheus.log",
        )
        ending.undo_at_end(self.stop)
        wait_until(self._is_ready, timeout_seconds=START_SECONDS, what="Prometheus is ready")
        return self

    def stop(self) -> None:
        """End it, as a crash would. Calling it again does nothing."""
        if self._child is not None:
            self._child.kill()
            ending.forget(self.stop)

    def _is_ready(self) -> bool:
        if self._child is None or not self._child.is_running():
            tail = self._child.log_tail() if self._child else ""
            raise PrometheusFailedError(f"Prometheus has ended:\n{tail}")
        try:
            answer = self._http.request("GET", f"{self.url}/-/ready")
        except urllib3.exceptions.HTTPError:
            return False
        # One that wants a password is there, too.
        return answer.status in (200, 401)

    def _write(self, name: str, content: dict[str, Any]) -> None:
        write_secret(self._path / name, json.dumps(content))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._folder.cleanup()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
