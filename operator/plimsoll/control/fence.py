"""Keep an error in one part of a turn from stopping the others."""

from collections.abc import Generator
from contextlib import contextmanager

from plimsoll.vocabulary import logs, metrics

_log = logs.logger(__name__)


@contextmanager
def fenced(what: str) -> Generator[None]:
    """Count and log an error; `what` says what was not done."""
    try:
        yield
    except Exception:  # noqa: BLE001 - around a part: the others go on, and it is counted
        metrics.LOOP_ERRORS.inc()
        _log.exception(what)
