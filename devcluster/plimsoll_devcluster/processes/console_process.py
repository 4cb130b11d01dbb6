"""The console as a separate process, run the way a cluster runs it."""

import json
import sys
import tempfile
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import urllib3

from plimsoll_devcluster.processes import ending
from plimsoll_devcluster.processes.child import Child
from plimsoll_devcluster.processes.probes import PATIENCE_SECONDS, Probes
from plimsoll_devcluster.waiting import PATIENCE, wait_until

START_SECONDS = 60.0
STOP_SECONDS = 30.0
ANSWER_SECONDS = 60.0
"""How long it may look for the answer to a question, on a machine of its own."""


class ConsoleProcess:
    """One console. `environment` adds to its variables, such as PLIMSOLL_CONSOLE_STALE_SECONDS."""

    def __init__(self, kubeconfig: Path, environment: Mapping[str, str] | None = None) -> None:
        self._kubeconfig, self._environment = kubeconfig, dict(environment or {})
        self._folder = tempfile.TemporaryDirectory(prefix="plimsoll-console-")
        self._child: Child | None = None
        self._http = urllib3.PoolManager(retries=False)
        said = Probes(lambda: self.address)
        self.probe, self.metric = said.probe, said.metric

    @property
    def log(self) -> Path:
        """Everything that it has logged."""
        return Path(self._folder.name) / "console.log"

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._running().pid

    @property
    def address(self) -> str:
        """Where it serves since its last start, as host and port; LookupError until it does."""
        for line in reversed(self.log.read_text(errors="replace").splitlines()):
            if line.startswith("{") and line.endswith("}") and "port" in (said := json.loads(line)):
                return f"127.0.0.1:{said['port']}"
        raise LookupError("the console has not said its port yet")

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{self.address}"

    def start(self) -> Self:
        """Start it, and wait until it knows the cluster."""
        environment = {
            "KUBECONFIG": str(self._kubeconfig),
            "PLIMSOLL_CONSOLE_HOST": "127.0.0.1",
            "PLIMSOLL_CONSOLE_PORT": "0",
            "PLIMSOLL_CONSOLE_ANSWER_SECONDS": str(ANSWER_SECONDS * PATIENCE),
            **self._environment,
        }
        command = [sys.executable, "-m", "plimsoll_console.main"]
        self._child = Child(command, self.log, environment=environment)
        ending.undo_at_end(self.kill)
        wait_until(self._is_ready, timeout_seconds=START_SECONDS, what="the console is ready")
        return self

    def stop(self) -> int:
        """Shut it down in order; return its exit status."""
        status = self._running().end(STOP_SECONDS * PATIENCE)
        ending.forget(self.kill)
        return status

    def kill(self) -> None:
        """Kill it, as a crash would."""
        if self._child is not None:
            self._child.kill()
            ending.forget(self.kill)

    def get(self, path: str, token: str | None) -> tuple[int, Any]:
        """What it answers a GET request of a bearer of that token: status and JSON."""
        return self._asked("GET", path, token)

    def text(self, path: str, token: str | None) -> str:
        """The same of an answer that is no JSON: its text."""
        return self._sent("GET", path, token).data.decode()

    def post(self, path: str, token: str | None, body: object) -> tuple[int, Any]:
        """The same of a POST request with a body."""
        return self._asked("POST", path, token, body)

    def _asked(
        self, method: str, path: str, token: str | None, body: object = None
    ) -> tuple[int, Any]:
        answer = self._sent(method, path, token, body)
        return answer.status, json.loads(answer.data)

    def _sent(
        self, method: str, path: str, token: str | None, body: object = None
    ) -> urllib3.BaseHTTPResponse:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        sent = None if body is None else json.dumps(body).encode()
        seconds = PATIENCE_SECONDS if body is None else PATIENCE_SECONDS + ANSWER_SECONDS
        return self._http.request(
            method, f"{self.url}{path}", headers=headers, body=sent, timeout=seconds * PATIENCE
        )

    def _is_ready(self) -> bool:
        if not self._running().is_running():
            raise RuntimeError(f"the console has ended:\n{self._running().log_tail()}")
        try:
            return self.probe("/readyz")[0] == HTTPStatus.OK
        except (urllib3.exceptions.HTTPError, LookupError):
            return False

    def _running(self) -> Child:
        if self._child is None:
            raise RuntimeError("the console was not started")
        return self._child

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        self._folder.cleanup()
