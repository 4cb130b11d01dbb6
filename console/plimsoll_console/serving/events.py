"""The stream of changes, as server-sent events: which views have changed, and to which version.

What changed is fetched by the page: a reader that is slow misses marks and no more, and none are
kept for it. The token and the rights are reviewed again every few seconds; when the token is no
longer valid, or a right is withdrawn, the stream ends.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from aiohttp import hdrs, web

from plimsoll_console.cluster.feed import Feed, Seen
from plimsoll_console.errors import (
    AskedTooOften,
    AskRefused,
    BadQuestion,
    NothingThere,
)
from plimsoll_console.messages.base import Changed, Problem
from plimsoll_console.serving.asker import Asker, Askers
from plimsoll_console.serving.encoded import encode
from plimsoll_console.serving.shown import Shown

MOST_VIEWS: Final = 16
WRITE_SECONDS: Final = 20.0
"""A reader that takes nothing for so long is let go."""
REVIEW_SECONDS: Final = 4.0
HEARTBEAT: Final = b": \n\n"


class Viewers:
    """How many streams there are, by user; within limits."""

    def __init__(self, most: int) -> None:
        self._most, self._most_each = most, max(10, most // 10)
        self._by_user: Counter[str] = Counter()

    @contextmanager
    def one_more(self, user: str) -> Generator[None]:
        """Count a stream while it lasts. Raises AskedTooOften."""
        if self._by_user.total() >= self._most or self._by_user[user] >= self._most_each:
            raise AskedTooOften("too many pages are open: close some, or try again later")
        self._by_user[user] += 1
        try:
            yield
        finally:
            self._by_user[user] -= 1
            if not self._by_user[user]:
                del self._by_user[user]


class Stream:
    """What one viewer is told. `said` are the versions of the views that were sent."""

    def __init__(
        self, askers: Askers, shown: Shown, feed: Feed, views: Sequence[str], token: str
    ) -> None:
        self._askers, self._shown, self._feed = askers, shown, feed
        self._views, self._token = views, token
        self._said: dict[str, str] = {}

    async def events(self, first: Asker, address: Hashable) -> AsyncGenerator[bytes]:
        """The events, until the token or a right is gone, or reviews fail."""
        asker = first
        while True:
            try:
                async for event in self._changes(asker):
                    yield event
                yield HEARTBEAT
                await self._feed.newer(asker.seen.number, seconds=REVIEW_SECONDS)
                now = await self._askers.asker(self._token, address)
            except AskRefused as error:
                yield event_of("end", Problem((str(error),)))
                return
            if asker.rights.withdrawn(now.rights, now.seen.places):
                text = "a right was withdrawn: what you may see has changed"
                yield event_of("end", Problem((text,)))
                return
            for event in _staleness(asker.seen, now.seen):
                yield event
            asker = now

    async def _changes(self, asker: Asker) -> AsyncGenerator[bytes]:
        for path in self._views:
            with contextlib.suppress(NothingThere):
                await self._askers.require(asker, path)
                found = await self._shown.of(path, asker.seen, asker.rights)
                version = found.version if found is not None else ""
                if self._said.get(path) != version:
                    self._said[path] = version
                    yield event_of("changed", Changed(path, version))


def _staleness(before: Seen, now: Seen) -> Iterator[bytes]:
    if (before.stale_since is None) != (now.stale_since is None):
        text = "what is shown has not been confirmed to be current"
        yield event_of("stale" if now.stale_since else "current", Problem((text,)))


def views_of(request: web.Request) -> tuple[str, ...]:
    """The views that a request names. Raises BadQuestion."""
    views = tuple(dict.fromkeys(request.query.getall("view", [])))
    if not views or len(views) > MOST_VIEWS:
        raise BadQuestion(f"view: name 1 to {MOST_VIEWS} views, as in ?view=cluster&view=map")
    return views


async def follow(request: web.Request, events: AsyncGenerator[bytes]) -> web.StreamResponse:
    """Send events until they end, the reader goes away, or takes nothing any more."""
    response = web.StreamResponse(
        headers={hdrs.CONTENT_TYPE: "text/event-stream", "X-Accel-Buffering": "no"}
    )
    await response.prepare(request)
    async with contextlib.aclosing(events):
        async for event in events:
            try:
                async with asyncio.timeout(WRITE_SECONDS):
                    await response.write(event)
            except (TimeoutError, ConnectionError):
                break
    return response


def event_of(name: str, data: Changed | Problem) -> bytes:
    """One server-sent event."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), encode(data))
