"""One program of the control plane as a child of this process, with its log."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

DIE_WITH_PARENT = Path(__file__).with_name("die_with_parent.py")
TAIL_LINES = 20


class Child:
    """A running program that logs to a file and dies with us."""

    def __init__(
        self, command: Sequence[str], log: Path, *, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = Path(command[0]).name
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*_bound_to_us(), *command],
                stdin=subprocess.DEVNULL,
                env=None if environment is None else {**os.environ, **environment},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for us; we end our children in order
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def is_running(self) -> bool:
        """Whether it is still running."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill it at once; nothing that it holds needs an orderly shutdown.

        Straight through the kernel and not through Popen, whose lock may be held by the very code
        that a signal handler has interrupted to come here.
        """
        if self._process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        self._process.returncode = -signal.SIGKILL

    def end(self, timeout_seconds: float) -> int:
        """Ask it to end, and wait until it has; return its exit status. Raises TimeoutExpired."""
        self._process.terminate()
        return self._process.wait(timeout_seconds)

    def log_tail(self) -> str:
        """The last lines of the log."""
        return last_lines(self.log)


def last_lines(log: Path) -> str:
    """The last lines of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-TAIL_LINES:])


def _bound_to_us() -> list[str]:
    # The kernel ties a child to the thread that started it, so only the main thread, which lives as
    # long as the process, may do so.
    if threading.current_thread() is not threading.main_thread():
        return []
    return [sys.executable, "-I", "-S", str(DIE_WITH_PARENT), str(os.getpid())]
