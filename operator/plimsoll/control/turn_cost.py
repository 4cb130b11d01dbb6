"""What the loop's turns take of the processor, by part."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from enum import StrEnum

from plimsoll.vocabulary import metrics


class TurnPart(StrEnum):
    """A part of a turn; searches for plans run in processes of their own and are in none."""

    OBSERVE = "Observe"
    GUARD = "Guard"
    BUILD = "Build"
    CAP = "Cap"
    COMPARE = "Compare"
    RECORD = "Record"
    ADOPT = "Adopt"
    SEARCH = "Search"
    BUY = "Buy"
    ACT = "Act"
    REPORT = "Report"


@contextmanager
def counted(part: TurnPart) -> Generator[None]:
    """Count the CPU time of this thread for a part; nothing may be awaited meanwhile."""
    began = time.thread_time()
    try:
        yield
    finally:
        metrics.LOOP_CPU_SECONDS.labels(part).inc(time.thread_time() - began)
