"""The operator as a separate process, run the way a cluster runs it."""

import json
import secrets
import sys
import tempfile
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import urllib3

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.processes import ending
from plimsoll_devcluster.processes.child import Child
from plimsoll_devcluster.processes.probes import PATIENCE_SECONDS, Probes
from plimsoll_devcluster.waiting import PATIENCE, wait_until

NAMESPACE = "plimsoll-system"
START_SECONDS = 60.0
STOP_SECONDS = 30.0
OPERATOR = ("run", "-m", "plimsoll.main", "--standalone", "--all-namespaces")
"""The arguments of kopf's command."""


class Started(Protocol):
    """A process of it; `Child` says what these do."""

    @property
    def pid(self) -> int: ...  # noqa: D102

    def is_running(self) -> bool: ...  # noqa: D102

    def kill(self) -> None: ...  # noqa: D102

    def end(self, timeout_seconds: float) -> int: ...  # noqa: D102

    def log_tail(self) -> str: ...  # noqa: D102


def by_command(environment: Mapping[str, str], log: Path) -> Child:
    """Start it by the command that its image runs."""
    return Child([sys.executable, "-m", "kopf", *OPERATOR], log, environment=environment)


class OperatorProcess:
    """One replica. It can be started and killed repeatedly, and keeps its name in the Lease.

    `environment` adds to the process's variables, such as PLIMSOLL_RELIST_SECONDS. A probe times
    out after `probe_seconds`. `begin` starts a process with an environment and a log.
    """

    def __init__(
        self,
        kubeconfig: Path,
        environment: Mapping[str, str] | None = None,
        *,
        probe_seconds: float = PATIENCE_SECONDS,
        begin: Callable[[Mapping[str, str], Path], Started] = by_command,
    ) -> None:
        self._kubeconfig = kubeconfig
        self._folder = tempfile.TemporaryDirectory(prefix="plimsoll-operator-")
        self._identity = f"replica-{secrets.token_hex(4)}"
        self._environment = dict(environment or {})
        self._begin = begin
        self._child: Started | None = None
        self._starts = 0
        said = Probes(lambda: self.address, seconds=probe_seconds)
        self.probe, self.metric = said.probe, said.metric

    @property
    def log(self) -> Path:
        """Everything that the present or last process has logged."""
        return Path(self._folder.name) / f"operator-{self._starts}.log"

    @property
    def pid(self) -> int:
        """The process id of the present process."""
        return self._running().pid

    def launch(self) -> None:
        """Start a process, without waiting for it."""
        ensure_namespace(ApiServer(self._kubeconfig))
        self._starts += 1
        environment = {
            "KUBECONFIG": str(self._kubeconfig),
            "PLIMSOLL_IDENTITY": self._identity,
            "PLIMSOLL_HOST": "127.0.0.1",
            "PLIMSOLL_PORT": "0",
            "PLIMSOLL_WORKER_PORT": "0",
            **self._environment,
        }
        self._child = self._begin(environment, self.log)
        ending.undo_at_end(self.kill)

    def start(self) -> Self:
        """Start a process, and wait until it leads and its view of the cluster is synced."""
        self.launch()
        self.wait_ready()
        return self

    def wait_ready(self, seconds: float = START_SECONDS) -> None:
        """Wait until it leads and its view of the cluster is synced."""
        wait_until(self._leads, timeout_seconds=seconds, what="the operator leads")

    def is_running(self) -> bool:
        """Whether the process is running."""
        return self._child is not None and self._child.is_running()

    def kill(self) -> None:
        """Kill it, as a crash would."""
        if self._child is not None:
            self._child.kill()
            ending.forget(self.kill)

    def stop(self) -> int:
        """Shut it down in order; return its exit status."""
        status = self._running().end(STOP_SECONDS * PATIENCE)
        ending.forget(self.kill)
        return status

    @property
    def address(self) -> str:
        """Where it serves probes and metrics, as host and port; LookupError until it does."""
        return f"127.0.0.1:{self._port()}"

    def log_lines(self) -> list[dict[str, object]]:
        """What it has logged; lines that are not JSON are omitted."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def _running(self) -> Started:
        if self._child is None:
            raise RuntimeError("the operator was not started")
        return self._child

    def _leads(self) -> bool:
        if not self.is_running():
            raise RuntimeError(f"the operator has ended:\n{self._running().log_tail()}")
        try:
            ready = self.probe("/readyz")[0] == HTTPStatus.OK
            return ready and self.metric("plimsoll_leader") == 1
        except (urllib3.exceptions.HTTPError, LookupError):
            return False

    @property
    def worker_url(self) -> str:
        """Where workers report to; LookupError until it has logged that."""
        return f"http://127.0.0.1:{self._said_port('worker_port')}"

    def _port(self) -> int:
        return self._said_port("port")

    def _said_port(self, name: str) -> int:
        said = (line[name] for line in self.log_lines() if name in line)
        for port in said:
            return int(str(port))
        raise LookupError(f"the operator has not said its {name} yet")

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


def ensure_namespace(api: ApiServer) -> None:
    """Create the namespace of the operator's Lease, if it does not exist."""
    api.apply(
        f"/api/v1/namespaces/{NAMESPACE}",
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
    )
