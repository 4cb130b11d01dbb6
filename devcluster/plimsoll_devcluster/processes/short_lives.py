"""The operator, started and killed many times a minute.

Its imports take seconds, so a process that has imported everything forks off each life. From there
on it is what a cluster runs: `kopf run -m plimsoll.main`, until it is killed.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from multiprocessing.context import ForkServerContext
from pathlib import Path
from types import ModuleType

from kopf import cli
from kubernetes.config import kube_config

from plimsoll_devcluster.processes.child import last_lines
from plimsoll_devcluster.processes.die_with_parent import PR_SET_PDEATHSIG
from plimsoll_devcluster.processes.operator_process import OPERATOR, OperatorProcess
from plimsoll_devcluster.processes.probes import PATIENCE_SECONDS


class ForkedOperator:
    """An operator that logs to a file and dies with us, as a `Child` would.

    `environment` adds to the variables of this process.
    """

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        self.log = log
        variables = {**os.environ, **environment}
        self._process = _forks().Process(target=_live, args=(variables, log))
        log.touch()
        self._process.start()

    @property
    def pid(self) -> int:
        """The process id."""
        if self._process.pid is None:
            raise RuntimeError("the operator was not started")
        return self._process.pid

    def is_running(self) -> bool:
        """Whether it is still running."""
        return self._process.is_alive()

    def kill(self) -> None:
        """Kill it at once, as a crash would."""
        self._process.kill()
        self._process.join()

    def end(self, timeout_seconds: float) -> int:
        """Ask it to end, and wait until it has; return its exit status. Raises TimeoutError."""
        self._process.terminate()
        self._process.join(timeout_seconds)
        if self._process.exitcode is None:
            raise TimeoutError(f"the operator has not ended within {timeout_seconds:g} s")
        return self._process.exitcode

    def log_tail(self) -> str:
        """The last lines of the log."""
        return last_lines(self.log)


def forked_operator(
    kubeconfig: Path,
    environment: Mapping[str, str] | None = None,
    *,
    probe_seconds: float = PATIENCE_SECONDS,
) -> OperatorProcess:
    """An `OperatorProcess` that need not import everything whenever it is started."""
    return OperatorProcess(
        kubeconfig, environment, probe_seconds=probe_seconds, begin=ForkedOperator
    )


@contextmanager
def operator_life(environment: Mapping[str, str], log: Path) -> Generator[int]:
    """Yield the process id of an operator, and kill it afterwards."""
    operator = ForkedOperator(environment, log)
    try:
        yield operator.pid
        if not operator.is_running():
            raise RuntimeError(f"the operator has ended:\n{log.read_text()}")
    finally:
        operator.kill()


def _forks() -> ForkServerContext:
    """The process that forks off operators."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["plimsoll.main", "plimsoll_devcluster.processes.short_lives"])
    return context


def _live(environment: dict[str, str], log: Path) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    # Otherwise its solver's process would import the tests' program again.
    sys.modules["__main__"] = ModuleType("__main__")
    os.environ.clear()
    os.environ.update(environment)
    # It reads the environment only while it is imported.
    kube_config.KUBE_CONFIG_DEFAULT_LOCATION = environment["KUBECONFIG"]
    cli.main([*OPERATOR])
