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

from plimsoll_devcluster.processes.die_with_parent import PR_SET_PDEATHSIG


def forks() -> ForkServerContext:
    """The process that forks off operators."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["plimsoll.main", "plimsoll_devcluster.processes.short_lives"])
    return context


@contextmanager
def operator_life(
    context: ForkServerContext, environment: Mapping[str, str], log: Path
) -> Generator[int]:
    """Yield the process id of an operator, and kill it afterwards."""
    process = context.Process(target=_live, args=(dict(environment), log, os.getpid()))
    process.start()
    try:
        if process.pid is None:
            raise RuntimeError("the operator was not started")
        yield process.pid
        if not process.is_alive():
            raise RuntimeError(f"the operator has ended:\n{log.read_text()}")
    finally:
        process.kill()
        process.join()


def _live(environment: dict[str, str], log: Path, _owner: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    # Otherwise its solver's process would import the tests' program again.
    sys.modules["__main__"] = ModuleType("__main__")
    os.environ.update(environment)
    # It reads the environment only while it is imported.
    kube_config.KUBE_CONFIG_DEFAULT_LOCATION = environment["KUBECONFIG"]
    cli.main(["run", "-m", "plimsoll.main", "--standalone", "--all-namespaces"])
