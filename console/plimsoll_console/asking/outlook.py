"""When the jobs that wait are expected to start, worked out while somebody looks at them.

That takes a plan and a look at each job, so it is done in a process, at most twice a minute, and
only for those that go first.
"""

import asyncio
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NoReturn

from plimsoll.observe.snapshot import JobName
from plimsoll_console.asking.desk import Desk
from plimsoll_console.cluster.feed import Feed, Seen
from plimsoll_console.errors import AskRefused
from plimsoll_console.messages.queue import WaitingLine
from plimsoll_console.views.line import line_of, waiting_in
from plimsoll_console.views.sight import Sight
from plimsoll_console.views.stamps import Stamp

MOST_JOBS: Final = 20
REST_SECONDS: Final = 30.0
INTEREST_SECONDS: Final = 90.0
"""For how long after somebody has looked it is kept up to date."""


class Outlook:
    """The expected starts, as last worked out."""

    def __init__(self, feed: Feed, desk: Desk) -> None:
        self._feed, self._desk = feed, desk
        self._starts: Mapping[JobName, datetime] = {}
        self._looked_at = -INTEREST_SECONDS
        self._number = 0

    def line(self, sight: Sight, stamp: Stamp) -> WaitingLine:
        """Who waits, with when they are expected to start."""
        self._looked_at = time.monotonic()
        return line_of(sight, stamp, self._starts)

    async def run(self) -> NoReturn:
        """Work it out until cancelled."""
        while True:
            seen = await self._feed.newer(self._number, seconds=REST_SECONDS)
            is_wanted = time.monotonic() - self._looked_at < INTEREST_SECONDS
            if seen is not None and seen.number > self._number and is_wanted:
                self._number = seen.number
                self._starts = await self._worked_out(seen)
                await asyncio.sleep(REST_SECONDS)
            else:
                await asyncio.sleep(1.0)

    async def _worked_out(self, seen: Seen) -> Mapping[JobName, datetime]:
        names = tuple(view.name for view in waiting_in(seen.snapshot)[:MOST_JOBS])
        if not names:
            return {}
        try:
            return await self._desk.starts(seen, names)
        except AskRefused:
            return {}  # it took too long: what is not known is not shown
