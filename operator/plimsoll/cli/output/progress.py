"""Say on standard error what takes longer than a person likes to wait."""

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

PATIENCE_SECONDS = 2.0


@contextmanager
def slow(what: str, *, patience_seconds: float = PATIENCE_SECONDS) -> Generator[None]:
    """Say what is being done if it is not done soon; on a terminal, take it back at the end."""
    said = threading.Event()

    def say() -> None:
        said.set()
        sys.stderr.write(f"{what} …{'' if sys.stderr.isatty() else chr(10)}")
        sys.stderr.flush()

    timer = threading.Timer(patience_seconds, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if said.is_set() and sys.stderr.isatty():
            sys.stderr.write("\r\N{ESCAPE}[K")
            sys.stderr.flush()
