"""A PostgreSQL as a child of this process, on loopback, which leaves nothing behind."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

import pg8000.dbapi  # pyright: ignore[reportMissingTypeStubs]

from plimsoll_devcluster.processes import ending
from plimsoll_devcluster.processes.child import Child
from plimsoll_devcluster.processes.lifetime import RunsInside
from plimsoll_devcluster.processes.ports import free_port
from plimsoll_devcluster.waiting import wait_until

START_SECONDS: Final = 60.0
_USER: Final = "plimsoll"
_NOBODY: Final = 65534
_DEPTH: Final = 4
"""How deep in what was unpacked the programs' folder is: usr/lib/postgresql/15/bin."""


class PostgresqlFailedError(Exception):
    """PostgreSQL has ended; the message ends with its last log lines."""


class PostgresqlServer(RunsInside):
    """A PostgreSQL with one empty database that its only user may enter from this machine.

    It refuses to run as root, and is then run as nobody. It can be started and stopped repeatedly,
    and keeps its address and its data. `options` are settings such as `fsync=off`.
    """

    def __init__(self, programs: Path, options: Sequence[str] = ("fsync=off",)) -> None:
        super().__init__("postgresql")
        self._programs = programs
        self._as_other: list[str] = []
        if os.geteuid() == 0:
            self._programs = _for_all(programs, self._path)
            self._as_other = [
                shutil.which("setpriv") or "setpriv",
                *(f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"),
            ]
        self._environment = {**_libraries(self._programs), "LC_ALL": "C.UTF-8"}
        self._options = [part for each in options for part in ("-c", each)]
        self._port = free_port()
        self._child: Child | None = None
        self._make()

    @property
    def url(self) -> str:
        """Its address, with the user and the database."""
        return f"postgresql://{_USER}@127.0.0.1:{self._port}/postgres"

    @property
    def data(self) -> Path:
        """The folder of its data."""
        return self._path / "data"

    def start(self) -> Self:
        """Start it, and wait until it answers. Raises PostgresqlFailedError."""
        listening = ["-h", "127.0.0.1", "-p", str(self._port), "-k", ""]
        self._child = Child(
            [
                *self._as_other,
                str(self._programs / "postgres"),
                *("-D", str(self.data)),
                *listening,
                *self._options,
            ],
            self._path / "postgresql.log",
            environment=self._environment,
        )
        ending.undo_at_end(self.stop)
        wait_until(self._is_ready, timeout_seconds=START_SECONDS, what="PostgreSQL is ready")
        return self

    def stop(self) -> None:
        """End it, as a crash would. Calling it again does nothing."""
        if self._child is not None:
            self._child.kill()
            ending.forget(self.stop)

    def _make(self) -> None:
        """Make the folder of its data."""
        if self._as_other:
            os.chown(self._path, _NOBODY, _NOBODY)
        command = [str(self._programs / "initdb"), "-D", str(self.data), "-U", _USER]
        made = subprocess.run(
            [*self._as_other, *command, "--auth=trust", "--encoding=UTF8", "--no-sync"],
            env={**os.environ, **self._environment},
            cwd=self._path,
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            raise PostgresqlFailedError(f"initdb failed:\n{made.stderr}")

    def _is_ready(self) -> bool:
        if self._child is None or not self._child.is_running():
            tail = self._child.log_tail() if self._child else ""
            raise PostgresqlFailedError(f"PostgreSQL has ended:\n{tail}")
        try:
            self._connect().close()
        except pg8000.dbapi.Error:
            return False
        return True

    def _connect(self) -> pg8000.dbapi.Connection:
        return pg8000.dbapi.connect(  # pyright: ignore[reportUnknownMemberType]
            _USER, "127.0.0.1", "postgres", self._port, timeout=5
        )


def _libraries(programs: Path) -> Mapping[str, str]:
    """The environment in which unpacked programs find the libraries unpacked with them."""
    root = programs.parents[min(_DEPTH, len(programs.parents) - 1)]
    folders = [str(each) for each in root.glob("usr/lib/*-linux-gnu")]
    return {"LD_LIBRARY_PATH": ":".join(folders)} if folders else {}


def _for_all(programs: Path, folder: Path) -> Path:
    """The programs where others than root may run them: root's own cache is closed to them."""
    if all(each.stat().st_mode & 0o001 for each in programs.parents):
        return programs
    root = programs.parents[_DEPTH]
    shutil.copytree(root, folder / "programs", symlinks=True)
    folder.chmod(0o755)
    return folder / "programs" / programs.relative_to(root)
