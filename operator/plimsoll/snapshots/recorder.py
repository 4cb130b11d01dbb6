"""Write a snapshot from time to time while the loop turns, without delaying it.

One file at a time is written, in a thread; moments that come meanwhile, or too soon after the last
one, are not recorded. A failed write is logged and counted, and the loop goes on.
"""

import asyncio
import math
import time
from dataclasses import dataclass
from pathlib import Path

from plimsoll.snapshots.writing import Moment, write
from plimsoll.vocabulary import logs, metrics

_log = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class RecordingTerms:
    """How many files are kept, and the least number of seconds between two."""

    keep: int = 20
    every_seconds: float = 60.0


class Recorder:
    """Records moments in a folder; records nothing without one."""

    def __init__(self, folder: Path | None, terms: RecordingTerms | None = None) -> None:
        self._folder = folder
        self._terms = terms or RecordingTerms()
        self._next = -math.inf
        self._writing: asyncio.Task[None] | None = None

    def record(self, moment: Moment) -> None:
        """Start writing a moment, if it is time."""
        busy = self._writing is not None and not self._writing.done()
        if self._folder is None or busy or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._terms.every_seconds
        self._writing = asyncio.create_task(self._write(self._folder, moment))

    async def close(self) -> None:
        """Let a write in progress finish."""
        if self._writing is not None:
            await self._writing

    async def _write(self, folder: Path, moment: Moment) -> None:
        try:
            file = await asyncio.to_thread(write, folder, moment, keep=self._terms.keep)
        except OSError as error:
            metrics.SNAPSHOTS.labels("Failed").inc()
            _log.warning("snapshot not written", folder=str(folder), error=str(error))
        else:
            metrics.SNAPSHOTS.labels("Written").inc()
            _log.debug("snapshot written", file=str(file))
