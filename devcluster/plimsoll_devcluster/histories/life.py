"""The operator that lives through histories: it is killed, and comes back as a kubelet would do."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from plimsoll_devcluster.short_lives import forks, operator_life

_SETTINGS = {
    "PLIMSOLL_HOST": "127.0.0.1",
    "PLIMSOLL_PORT": "0",
    "PLIMSOLL_WORKER_PORT": "0",
    # One name, so that each life leads at once.
    "PLIMSOLL_IDENTITY": "mortal",
    "PLIMSOLL_LEASE_NAME": "mortal",
}


class Mortal:
    """One replica, which comes back whenever it is asked to and is not there."""

    def __init__(
        self, kubeconfig: Path, folder: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self._environment = {"KUBECONFIG": str(kubeconfig), **_SETTINGS, **(environment or {})}
        self._folder = folder
        self._forks = forks()
        self._stack = ExitStack()
        self._pid = 0
        self._back_at = 0.0
        self.log = folder / "operator.log"
        self.lives = 0
        self.ended_by_itself = 0

    def kill(self, away_seconds: float) -> None:
        """End it as a crash would; it is away for so long at least."""
        if self._pid:
            self._pid = 0
            self._stack.close()
        self._back_at = time.monotonic() + away_seconds

    def attend(self) -> None:
        """Start it if it is not there and its time has come."""
        if self._pid and not _is_alive(self._pid):
            self.ended_by_itself += 1
            self._pid = 0
            self._stack.pop_all()
        if not self._pid and time.monotonic() >= self._back_at:
            self.lives += 1
            life = operator_life(self._forks, self._environment, self.log)
            self._pid = self._stack.enter_context(life)

    def turns_that_failed(self) -> list[str]:
        """What it logged of turns that an unforeseen error ended, and parts that failed."""
        words = ('"turn failed"', "a part failed", "Traceback")
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return [line for line in lines if any(word in line for word in words)]


def _is_alive(pid: int) -> bool:
    """Whether a process of the fork server runs; one that has ended is reaped there."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
