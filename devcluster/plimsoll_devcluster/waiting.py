"""When is it so? Waiting for a condition, never for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.05


def wait_until(condition: Callable[[], T], *, timeout_seconds: float, what: str) -> T:
    """Ask `condition` until it answers with something true, and return that.

    Raises TimeoutError, naming `what` was waited for and the last answer.
    """
    deadline = time.monotonic() + timeout_seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"not within {timeout_seconds:g} s: {what} (last answer: {answer!r})"
            )
        time.sleep(POLL_SECONDS)
