"""How long programs last that are started beside a control plane: as long as they are needed."""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Self

from plimsoll_devcluster.processes.child import Child
from plimsoll_devcluster.waiting import wait_until


class RunsInside(ABC):
    """Programs that run while one is inside this context manager, with a folder of their own.

    If they do not start they are stopped, and so nothing is left of them.
    """

    def __init__(self, name: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix=f"plimsoll-{name}-")
        self._path = Path(self._folder.name)

    @abstractmethod
    def start(self) -> Self:
        """Start them, and wait until they can be used."""

    @abstractmethod
    def stop(self) -> None:
        """End them, as a crash would. Calling it again does nothing."""

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self._leave()
            raise

    def __exit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        self.stop()
        self._folder.cleanup()


def wait_while_running(
    children: Collection[Child],
    condition: Callable[[], object],
    *,
    seconds: float,
    what: str,
    failed: Callable[[str], Exception],
) -> None:
    """Wait until a condition holds; raise what `failed` makes if a child ends, or time is over.

    Its text ends with the last lines that the children have logged.
    """

    def holds() -> object:
        for child in children:
            if not child.is_running():
                raise failed(f"{child.name} has ended:\n{child.log_tail()}")
        return condition()

    try:
        wait_until(holds, timeout_seconds=seconds, what=what)
    except TimeoutError as error:
        logs = "\n".join(child.log_tail() for child in children)
        raise failed(f"{error}; it logged:\n{logs}") from error
