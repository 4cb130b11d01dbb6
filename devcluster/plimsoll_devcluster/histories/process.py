"""The operator under test in histories: killed, and restarted as a kubelet would."""

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from plimsoll_devcluster.processes.short_lives import operator_life

TURN_FAILED = '"turn failed"'
"""What the operator logs whenever it counts `plimsoll_loop_errors_total`, which is lost with it."""
SET_ASIDE = '"job set aside"'
"""What it logs when it sets a job aside: only hostile tenants may have such jobs."""
_OF_THE_HOSTILE = re.compile(r'"job": ?"[^"/]+/[^"/]+-x/')
_TRACEBACK = "Traceback (most recent call last):"
"""What Python prints of what nobody caught, such as in a thread, outside the structured log."""
_FAILURES = (TURN_FAILED, "a part failed", "a part of the turn failed", "Traceback")

_SETTINGS = {
    "PLIMSOLL_HOST": "127.0.0.1",
    "PLIMSOLL_PORT": "0",
    "PLIMSOLL_WORKER_PORT": "0",
    # A fixed name, so that each life leads at once.
    "PLIMSOLL_IDENTITY": "mortal",
    "PLIMSOLL_LEASE_NAME": "mortal",
    "PLIMSOLL_ADOPTS_JOBS": "true",
}


class Mortal:
    """One replica, which is restarted on request whenever it is not running."""

    def __init__(
        self, kubeconfig: Path, folder: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self._environment = {"KUBECONFIG": str(kubeconfig), **_SETTINGS, **(environment or {})}
        self._folder = folder
        self._stack = ExitStack()
        self._pid = 0
        self._back_at = 0.0
        self.log = folder / "operator.log"
        self.lives = 0
        self.ended_by_itself = 0

    def kill(self, away_seconds: float) -> None:
        """End it as a crash would, and keep it away for at least this long."""
        if self._pid:
            self._pid = 0
            self._stack.close()
        self._back_at = time.monotonic() + away_seconds

    def attend(self) -> None:
        """Start it if it is not running and its time has come."""
        if self._pid and not _is_alive(self._pid):
            self.ended_by_itself += 1
            self._pid = 0
            self._stack.pop_all()
        if not self._pid and time.monotonic() >= self._back_at:
            self.lives += 1
            life = operator_life(self._environment, self.log)
            self._pid = self._stack.enter_context(life)

    def failures(self) -> list[str]:
        """What it logged of failed turns and parts, and of sensible jobs that it set aside."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return failures_in(lines)


def failures_in(lines: Sequence[str]) -> list[str]:
    """Of a log, the lines about failures; a traceback with all its lines and the one before."""
    found = [
        _whole_traceback(lines, at) if line == _TRACEBACK else line
        for at, line in enumerate(lines)
        if _reports_failure(line)
    ]
    return [each for each in found if not _was_orphaned_at_birth(each)]


def _whole_traceback(lines: Sequence[str], at: int) -> str:
    """It ends with the first line that is not indented, which names the exception.

    The structured log of the next life may come between.
    """
    found = list(lines[max(at - 1, 0) : at + 1])
    for line in lines[at + 1 :]:
        if not line.startswith("{"):
            found.append(line)
            if not line.startswith(" "):
                break
    return "\n".join(found)


def _was_orphaned_at_birth(failure: str) -> bool:
    """Whether the solver's process complains that the operator was killed while it started it."""
    return "in spawn_main" in failure and failure.endswith("EOFError: Ran out of input")


def _reports_failure(line: str) -> bool:
    if SET_ASIDE in line:
        return not _OF_THE_HOSTILE.search(line)
    return any(word in line for word in _FAILURES)


def summarized(failures: Sequence[str]) -> list[str]:
    """The first of such lines, and their number: failing turns fail by the hundred."""
    if not failures:
        return []
    return [f"{len(failures)} failures in the operator's log, the first: {failures[0]}"]


def _is_alive(pid: int) -> bool:
    """Whether a process of the fork server runs; one that has ended is reaped there."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
