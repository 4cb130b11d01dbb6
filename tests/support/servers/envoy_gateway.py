"""A real Envoy on loopback, as the gateway in front of services."""

import json
from typing import Self

import urllib3

from plimsoll_devcluster.processes import ending
from plimsoll_devcluster.processes.child import Child
from plimsoll_devcluster.processes.lifetime import RunsInside, wait_while_running
from plimsoll_devcluster.processes.ports import free_port
from support.servers.envoy_config import Front, Ports, envoy_config
from support.servers.envoy_program import find_envoy

START_SECONDS = 60.0


class EnvoyFailedError(Exception):
    """Envoy has ended; the message ends with its last log lines."""


class EnvoyGateway(RunsInside):
    """An Envoy that passes requests on to `front` while one is inside this context manager."""

    def __init__(self, front: Front) -> None:
        super().__init__("envoy")
        self._ports = Ports(serving=free_port(), statistics=free_port(), admin=free_port())
        self._child: Child | None = None
        (self._path / "envoy.json").write_text(json.dumps(envoy_config(front, self._ports)))

    @property
    def url(self) -> str:
        """Where it takes requests."""
        return f"http://127.0.0.1:{self._ports.serving}"

    @property
    def statistics(self) -> str:
        """The address that Prometheus scrapes."""
        return f"127.0.0.1:{self._ports.statistics}"

    def start(self) -> Self:
        """Start it, and wait until it takes requests. Raises EnvoyFailedError."""
        program, config = find_envoy(), self._path / "envoy.json"
        command = [str(program), "-c", str(config), "--concurrency", "1", "--disable-hot-restart"]
        self._child = Child(command, self._path / "envoy.log")
        ending.undo_at_end(self.stop)
        wait_while_running(
            [self._child],
            self._is_ready,
            seconds=START_SECONDS,
            what="Envoy is ready",
            failed=EnvoyFailedError,
        )
        return self

    def stop(self) -> None:
        """End it, as a crash would. Calling it again does nothing."""
        if self._child is not None:
            self._child.kill()
            ending.forget(self.stop)

    def _is_ready(self) -> bool:
        try:
            ready = urllib3.request(
                "GET", f"http://127.0.0.1:{self._ports.admin}/ready", retries=False, timeout=5
            )
        except urllib3.exceptions.HTTPError:
            return False
        return ready.status == 200
