"""Keep what has changed: so many hours, and so many changes at most."""

import asyncio
from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, NoReturn

from plimsoll.clock import SYSTEM, Clock
from plimsoll.observe.snapshot import JobName, JobView
from plimsoll_console.cluster.feed import Feed, Seen
from plimsoll_console.history.frames import (
    JobMoment,
    Keyframe,
    changes_between,
    figures_of,
    moment_of,
)
from plimsoll_console.messages.history import Change, Frame, History
from plimsoll_console.views.sight import Sight, named_key
from plimsoll_console.views.stamps import Stamp

MOST_CHANGES: Final = 50_000
MOST_SENT: Final = 1_000
_WAIT_SECONDS: Final = 60.0


class Recording:
    """The last hours of a feed."""

    def __init__(self, feed: Feed, *, hours: float, clock: Clock = SYSTEM) -> None:
        self._feed, self._kept = feed, timedelta(hours=hours)
        self._begun = clock.now()
        self._frames: deque[Keyframe] = deque()
        self._changes = 0
        self._moments: dict[JobName, tuple[JobView, JobMoment]] | None = None

    async def run(self) -> NoReturn:
        """Record until cancelled."""
        number = 0
        while True:
            seen = await self._feed.newer(number, seconds=_WAIT_SECONDS)
            if seen is not None and seen.number > number:
                number = seen.number
                await asyncio.to_thread(self.take, seen)

    def take(self, seen: Seen) -> None:
        """Take in a snapshot."""
        before, snapshot = self._moments, seen.snapshot
        known = before or {}
        self._moments = {
            view.name: at
            if (at := known.get(view.name)) is not None and at[0] is view
            else (view, moment_of(snapshot, view))
            for view in snapshot.jobs
        }
        if before is None:
            self._begun = snapshot.now
            return
        was, now = ({n: m for n, (_, m) in each.items()} for each in (before, self._moments))
        changes = tuple(changes_between(was, now))
        if changes:
            self._frames.append(Keyframe(snapshot.now, figures_of(snapshot), changes))
            self._changes += len(changes)
        self._forget(snapshot.now)

    def _forget(self, now: datetime) -> None:
        frames = self._frames
        while frames and (now - frames[0].time > self._kept or self._changes > MOST_CHANGES):
            gone = frames.popleft()
            self._changes -= len(gone.changes)
            self._begun = gone.time

    def of(self, sight: Sight, stamp: Stamp) -> History:
        """The last changes, as far as they may be seen."""
        frames = [*self._frames][-MOST_SENT:]
        since = frames[0].time if len(frames) == MOST_SENT else self._begun
        return History(*stamp, since=since, frames=tuple(_frame(sight, each) for each in frames))


def _frame(sight: Sight, frame: Keyframe) -> Frame:
    changes = tuple(_seen(sight, frame))
    figures = frame.figures
    return Frame(
        time=frame.time,
        gap_percent=figures.gap_percent if sight.rights.policy else None,
        jobs_running=figures.jobs_running,
        jobs_waiting=figures.jobs_waiting,
        gpus_milli=figures.gpus_milli,
        taken_milli=figures.taken_milli,
        changes=changes,
        others=len(frame.changes) - len(changes),
    )


def _seen(sight: Sight, frame: Keyframe) -> Iterator[Change]:
    for each in frame.changes:
        if sight.named(each.job):
            yield Change(
                key=named_key(each.job),
                what=each.what,
                reason=each.reason,
                # It may name nodes that are gone, which nothing could tell from other words now.
                message=sight.text(each.message) if sight.rights.nodes else "",
                before=dict(each.before),
                after=dict(each.after),
            )
