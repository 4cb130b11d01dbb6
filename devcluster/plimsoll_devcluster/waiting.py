"""Wait for a condition, never for a fixed time.

PLIMSOLL_TEST_PATIENCE multiplies all waits, for a slow or shared machine.
"""

import os
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.05
LONGEST_POLL_SECONDS = 0.25
PATIENCE = float(os.environ.get("PLIMSOLL_TEST_PATIENCE", "1"))


def wait_until(condition: Callable[[], T], *, timeout_seconds: float, what: str) -> T:
    """Call `condition` until it returns something true, and return that.

    Raises TimeoutError, naming `what` was waited for and the last answer.
    """
    patience_seconds = timeout_seconds * PATIENCE
    begun = time.monotonic()
    while True:
        answer = condition()
        if answer:
            return answer
        waited_seconds = time.monotonic() - begun
        if waited_seconds > patience_seconds:
            raise TimeoutError(
                f"not within {patience_seconds:g} s: {what} (last answer: {answer!r})"
            )
        time.sleep(_poll_seconds(waited_seconds))


def wait_for_count(  # noqa: PLR0913 - the condition, its patience, and a callback
    count: Callable[[], int],
    wanted: int,
    *,
    patience_seconds: float,
    poll_seconds: float = POLL_SECONDS,
    what: str,
    report: Callable[[str], object] = lambda _: None,
) -> None:
    """Call `count` until it is `wanted`, as long as it gets nearer; `report` is called with each.

    A busy machine then needs no more patience than an idle one. Raises TimeoutError when it has got
    no nearer for `patience_seconds`.
    """
    most, since = -1, time.monotonic()
    while (now := count()) < wanted:
        if now > most:
            most, since = now, time.monotonic()
            report(f"{now} of {wanted} {what}")
        elif time.monotonic() - since > patience_seconds:
            raise TimeoutError(f"only {most} of {wanted} {what} for {patience_seconds:g} s")
        time.sleep(poll_seconds)


def _poll_seconds(waited_seconds: float) -> float:
    """When to ask again: each question costs the server, a twentieth of the wait nobody."""
    return min(max(POLL_SECONDS, waited_seconds / 20), LONGEST_POLL_SECONDS)
