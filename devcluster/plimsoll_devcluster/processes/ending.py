"""Cleanup for when this process ends, however it ends (except by SIGKILL)."""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

Undo = Callable[[], None]

_undos: list[Undo] = []


def undo_at_end(undo: Undo) -> None:
    """Have `undo` called at exit and on SIGTERM and SIGHUP; it must tolerate being called twice.

    If somebody else has set a handler for a signal, it stays, and so does its responsibility.
    """
    _undos.append(undo)
    atexit.register(undo)
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _undo_and_die)


def forget(undo: Undo) -> None:
    """Drop `undo`: it has been done."""
    if undo in _undos:
        _undos.remove(undo)
    atexit.unregister(undo)


@contextmanager
def end_on_signals() -> Generator[None]:
    """Turn SIGINT, SIGTERM and SIGHUP into an orderly exit, for a program's `main`."""

    def end(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _undo_and_die(number: int, _frame: FrameType | None) -> None:
    for undo in reversed(_undos):
        undo()
    # Die as if the signal had not been caught, so that a waiting parent sees it.
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
