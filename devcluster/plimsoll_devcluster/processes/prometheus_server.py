"""A Prometheus as a child of this process, on loopback, which leaves nothing behind."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import urllib3

from plimsoll_devcluster.processes import ending
from plimsoll_devcluster.processes.child import Child
from plimsoll_devcluster.processes.credentials import write_secret
from plimsoll_devcluster.processes.lifetime import RunsInside
from plimsoll_devcluster.processes.ports import free_port
from plimsoll_devcluster.waiting import wait_until

START_SECONDS = 60.0
SCRAPE_INTERVAL = "1s"


class PrometheusFailedError(Exception):
    """Prometheus has ended; the message ends with its last log lines."""


@dataclass(frozen=True, slots=True)
class Scraped:
    """An exporter, and the labels attached to its series."""

    address: str
    labels: Mapping[str, str]


class PrometheusServer(RunsInside):
    """A Prometheus that scrapes the exporters at `targets` every second.

    Their job is called `dcgm-exporter`; `web_config` is that of its own server (users, TLS),
    `rules` a file of rules that it evaluates each second. It can be started and stopped repeatedly,
    and keeps its address and its data.
    """

    def __init__(
        self,
        program: Path,
        targets: Sequence[str | Scraped],
        *,
        web_config: dict[str, Any] | None = None,
        rules: Path | None = None,
    ) -> None:
        self._program = program
        super().__init__("prometheus")
        self._port = free_port()
        self._web_config = web_config or {}
        self._child: Child | None = None
        self._http = urllib3.PoolManager(retries=False, timeout=5)
        # Both are YAML, of which JSON is a subset.
        job = {"job_name": "dcgm-exporter", "static_configs": [_static(each) for each in targets]}
        timing = {"scrape_interval": SCRAPE_INTERVAL, "scrape_timeout": SCRAPE_INTERVAL}
        timing["evaluation_interval"] = SCRAPE_INTERVAL
        files = [str(rules)] if rules else []
        config = {
            "global": timing,
            "scrape_configs": [job],
            "rule_files": files,
        }
        self._write("prometheus.yml", config)
        self._write("web.yml", self._web_config)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._port}"

    def ask(self, path: str, **fields: str) -> Any:  # noqa: ANN401 - what JSON can say
        """The data that its API returns at a path such as `query`. Raises PrometheusFailedError."""
        answer = self._http.request("GET", f"{self.url}/api/v1/{path}", fields=fields)
        said = answer.json()
        if said["status"] != "success":
            raise PrometheusFailedError(f"{path} {fields}: {said.get('error')}")
        return said["data"]

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
        # One that wants a password is up too.
        return answer.status in (200, 401)

    def _write(self, name: str, content: dict[str, Any]) -> None:
        write_secret(self._path / name, json.dumps(content))


def _static(target: str | Scraped) -> dict[str, Any]:
    scraped = target if isinstance(target, Scraped) else Scraped(target, {})
    return {"targets": [scraped.address], "labels": dict(scraped.labels)}
