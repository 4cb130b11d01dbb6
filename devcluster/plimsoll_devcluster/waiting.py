"""When is it so? Waiting for a condition, never for a time.

PLIMSOLL_TEST_PATIENCE is how many times as long as is said is waited, on a slow or shared machine.
"""

import os
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.05
PATIENCE = float(os.environ.get("PLIMSOLL_TEST_PATIENCE", "1"))


def wait_until(condition: Callable[[], T], *, timeout_seconds: float, what: str) -> T:
    """Ask `condition` until it answers with something true, and return that.

    Raises TimeoutError, naming `what` was waited for and the last answer.
    """
    patience_seconds = timeout_seconds * PATIENCE
    deadline = time.monotonic() + patience_seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"not within {patience_seconds:g} s: {what} (last answer: {answer!r})"
            )
        time.sleep(POLL_SECONDS)


def wait_for_count(  # noqa: PLR0913 - what is waited for, how patiently, and who is told
    count: Callable[[], int],
    wanted: int,
    *,
    patience_seconds: float,
    poll_seconds: float = POLL_SECONDS,
    what: str,
    tell: Callable[[str], object] = lambda _: None,
) -> None:
    """Ask `count` until it is `wanted`, for as long as it comes nearer; `tell` is told of that.

    A busy machine then needs no other patience than an idle one. Raises TimeoutError when it came
    no nearer for `patience_seconds`.
    """
    most, since = -1, time.monotonic()
    while (now := count()) < wanted:
        if now > most:
            most, since = now, time.monotonic()
            tell(f"{now} of {wanted} {what}")
        elif time.monotonic() - since > patience_seconds:
            raise TimeoutError(f"only {most} of {wanted} {what} for {patience_seconds:g} s")
        time.sleep(poll_seconds)
