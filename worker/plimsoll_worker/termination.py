"""Whether this process was asked to end by SIGTERM."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import Any


class Termination:
    """Notes SIGTERM between `begin` and `end`, in place of its previous handling.

    The handler only sets a flag: it may interrupt anything, and must take no lock.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self._pid = os.getpid()
        self._before: Any = None
        self._is_ours = False

    def begin(self) -> None:
        """Take over the signal; only the main thread can, and elsewhere it is left alone."""
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, self._asked)
            self._is_ours = True

    def end(self) -> None:
        """Give it back."""
        if self._is_ours:
            # None stands for a handler that was not set from Python, and cannot be set again.
            signal.signal(signal.SIGTERM, self._before or signal.SIG_DFL)
            self._is_ours = False

    def _asked(self, number: int, _frame: FrameType | None) -> None:
        if os.getpid() == self._pid:
            self.is_asked = True
            return
        # In a forked child, such as a data loader's: it must end as if we were not there.
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
