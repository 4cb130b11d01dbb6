"""A whole control plane as children of this process, which leaves no process and no file behind.

It consists of etcd, kube-apiserver, kube-controller-manager, kube-scheduler and KWOK.
"""

import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.processes import ending, program_flags
from plimsoll_devcluster.processes.child import Child
from plimsoll_devcluster.processes.credentials import (
    ec_private_key_pem,
    kubeconfig,
    token_file_line,
    write_secret,
)
from plimsoll_devcluster.processes.program_flags import Place
from plimsoll_devcluster.waiting import wait_until

START_SECONDS = 90
LONGEST_FOLDER = 80  # a socket's path has room for about 100 characters


class ControlPlaneFailedError(Exception):
    """A program of the control plane has ended; the message ends with its last log lines."""


class ControlPlane:
    """A control plane, to be started once. Use it as a context manager, or call `stop` yourself.

    `programs` is the folder that `find_programs` returns. Without `service_account_admission` pods
    need no service account and mount no token: benchmarks that create thousands of pods then
    measure less of the API server and more of us. Without `taints_new_nodes`, nodes need not wait
    until a taint is taken off that they get when they are made. With `audit` there is a line in
    `audit_log` for each write.
    """

    def __init__(
        self,
        programs: Path,
        *,
        service_account_admission: bool = True,
        taints_new_nodes: bool = True,
        audit: bool = False,
    ) -> None:
        self._port_holder = _held_port()
        self._place = Place(
            programs=programs,
            folder=_new_folder(),
            port=self._port_holder.getsockname()[1],
            service_account_admission=service_account_admission,
            taints_new_nodes=taints_new_nodes,
            audit=audit,
        )
        self._children: dict[str, Child] = {}
        self._api: ApiServer | None = None
        ending.undo_at_end(self.stop)

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of the cluster's admin."""
        return self._place.kubeconfig

    @property
    def api(self) -> ApiServer:
        """A connection to the API server."""
        if self._api is None:
            self._api = ApiServer(self.kubeconfig)
        return self._api

    @property
    def logs(self) -> Path:
        """The folder of the programs' logs; it is removed when the control plane stops."""
        return self._place.logs

    @property
    def audit_log(self) -> Path:
        """The writes so far, each as JSON on a line, as `audit_policy.yaml` says."""
        return self._place.audit_log

    def start(self) -> Self:
        """Start everything; return when pods can be created.

        Raises ControlPlaneFailedError if a program ends, TimeoutError if one takes too long.
        """
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End every program and remove every file. Calling it again does nothing."""
        for child in reversed(self._children.values()):
            child.kill()
        self._port_holder.close()
        shutil.rmtree(self._place.folder, ignore_errors=True)
        ending.forget(self.stop)

    def stop_api_server(self) -> None:
        """Take the API server away, as a crash would; the others keep running."""
        self._children.pop("kube-apiserver").kill()

    def start_api_server(self) -> None:
        """Restart the API server at the same address, and wait until it is ready."""
        self._launch("kube-apiserver")
        self._wait_until_api_server_is_ready()

    def restart_api_server(self) -> None:
        """Crash and restart the API server: every watch breaks, nothing is lost."""
        self.stop_api_server()
        self.start_api_server()

    def check(self) -> None:
        """Raise ControlPlaneFailedError if a program that should run has ended."""
        for child in self._children.values():
            if not child.is_running():
                raise ControlPlaneFailedError(f"{child.name} has ended:\n{child.log_tail()}")

    def pids(self) -> dict[str, int]:
        """Return the process id of each program that was started."""
        return {name: child.pid for name, child in self._children.items()}

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _start(self) -> None:
        token = self._prepare_folder()
        self._launch("etcd")
        self._launch("kube-apiserver")
        self._wait(self._place.serving_certificate.exists, "the API server makes its certificate")
        config = kubeconfig(
            server=f"https://127.0.0.1:{self._place.port}",
            certificate=self._place.serving_certificate,
            token=token,
        )
        write_secret(self._place.kubeconfig, config)
        self._wait_until_api_server_is_ready()
        for name in ("kube-controller-manager", "kube-scheduler", "kwok"):
            self._launch(name)
        self._wait_until_pods_can_be_created()

    def _prepare_folder(self) -> str:
        token = secrets.token_hex(16)
        self._place.logs.mkdir()
        write_secret(self._place.service_account_key, ec_private_key_pem())
        write_secret(self._place.tokens, token_file_line(token))
        return token

    def _launch(self, name: str) -> None:
        command = program_flags.command(name, self._place)
        log = self._place.logs / f"{name}.log"
        self._children[name] = Child(command, log, environment=program_flags.ENVIRONMENT)

    def _wait_until_api_server_is_ready(self) -> None:
        self._wait(self.api.is_ready, "the API server is ready")

    def _wait_until_pods_can_be_created(self) -> None:
        path = "/api/v1/namespaces/default/serviceaccounts/default"
        self._wait(lambda: self.api.exists(path), "there is a default service account")

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        def holds() -> bool:
            self.check()
            return condition()

        wait_until(holds, timeout_seconds=START_SECONDS, what=what)


def _new_folder() -> Path:
    default = tempfile.gettempdir()
    parent = default if len(default) <= LONGEST_FOLDER else "/tmp"  # noqa: S108 - mkdtemp is safe
    return Path(tempfile.mkdtemp(prefix="plimsoll-", dir=parent))


def _held_port() -> socket.socket:
    """Take a free port and hold it, so that nobody else gets it, also between two API servers.

    The API server binds the same port as we do (--permit-port-sharing); only it listens.
    """
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    holder.bind(("127.0.0.1", 0))
    return holder
