"""How what the API server holds of one kind of objects is known here, and how current that is.

A list, then a watch from its version on; bookmarks keep the version young, a version that the
server has forgotten leads to a new list, and a connection that says nothing for longer than the
server ever would is given up. What the objects mean is decided elsewhere.
"""

import asyncio
import math
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

import msgspec

from plimsoll import telemetry
from plimsoll.errors import ApiError, Gone, Undecodable
from plimsoll.kube.answers import decoded, failure_of
from plimsoll.kube.client import KubeClient, Selection
from plimsoll.kube.objects import KubeObject, ObjectMeta, Status
from plimsoll.kube.resources import Resource
from plimsoll.kube.store import Key, Store

T = TypeVar("T", bound=KubeObject)

_log = telemetry.logger(__name__)


@dataclass(frozen=True, slots=True)
class WatchTerms:
    """How long a watch lasts, and how patient we are with it.

    The server sends a bookmark 2 s before it ends a watch, so how long one lasts also bounds how
    long a quiet cluster leaves us without a proof of being current. A watch that says nothing for
    `grace_seconds` beyond its end is dead: HTTP/1.1 has no pings by which to know sooner. client-go
    has, and takes 45 s (kubernetes/kubernetes#95981).
    """

    watch_seconds: int = 18
    grace_seconds: float = 6.0
    page_size: int = 500
    first_retry_seconds: float = 0.2
    longest_retry_seconds: float = 10.0
    failures_before_list: int = 5

    @property
    def longest_seconds(self) -> int:
        """How long a watch lasts at most."""
        return self.watch_seconds * 4 // 3

    @property
    def longest_silence_seconds(self) -> float:
        """How long we hear nothing by a connection that has died in silence."""
        return self.longest_seconds + self.grace_seconds


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Bookmark(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


class ListWatch(Generic[T]):
    """The objects of one kind, kept current while `run` runs.

    `keep` gives what is stored for an object, None for nothing. `changed` is called after each
    list, and after each batch of news in which anything but versions changed, `lost` whenever the
    connection or the place in the history was lost.
    """

    def __init__(  # noqa: PLR0913 - what to watch, and three ways to shape it by name
        self,
        client: KubeClient,
        resource: Resource,
        type_: type[T],
        *,
        selection: Selection | None = None,
        keep: Callable[[T], T | None] = lambda item: item,
        changed: Callable[[], None] = lambda: None,
        lost: Callable[[], None] = lambda: None,
        terms: WatchTerms | None = None,
    ) -> None:
        self._client = client
        self._path = resource.everywhere()
        self._type = type_
        self._selection = selection or Selection()
        self._changed = changed
        self._lost = lost
        self._terms = terms or WatchTerms()
        self._store = Store(keep)
        self._synced = asyncio.Event()
        self._must_list = True
        self._listed_at = -math.inf
        self._anew_from = -math.inf
        self._anew: asyncio.Timeout | None = None
        self._current_at = -math.inf
        telemetry.WATCH_STALENESS.labels(resource.plural).set_function(
            lambda: self.staleness_seconds(time.monotonic())
        )
        telemetry.WATCHED_OBJECTS.labels(resource.plural).set_function(
            lambda: len(self._store.objects)
        )

    @property
    def name(self) -> str:
        """The plural of what is watched."""
        return self._path.resource

    @property
    def objects(self) -> Mapping[Key, T]:
        """All objects; a live view, to be copied before awaiting anything."""
        return self._store.objects

    def get(self, name: str, namespace: str = "") -> T | None:
        """The object of that name."""
        return self._store.objects.get(Key(namespace, name))

    @property
    def synced(self) -> bool:
        """Whether everything has been listed once."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        """Return when everything has been listed once."""
        await self._synced.wait()

    def staleness_seconds(self, now: float) -> float:
        """How long ago, on the monotonic clock, what is known was surely current."""
        return max(0.0, now - self._current_at)

    def applied(self, item: T) -> None:
        """Take the answer to a write of ours, so that what was written is seen at once."""
        if self._store.wrote(item):
            self._changed()

    def is_from(self, moment: float) -> bool:
        """Whether all was listed at that moment of the monotonic clock or later; else it is, now.

        A watch that says nothing may be dead, so only a list proves that nothing was missed.
        """
        if self._listed_at >= moment:
            return True
        if self._anew_from < moment:
            self._anew_from, self._must_list = moment, True
            if self._anew is not None and not self._anew.expired():
                self._anew.reschedule(asyncio.get_running_loop().time())
        return False

    async def run(self) -> NoReturn:
        """List and watch until cancelled."""
        while True:
            self._anew = anew = asyncio.timeout(None)
            try:
                async with anew:
                    await self._keep_current()
            except TimeoutError:
                if not anew.expired():
                    raise

    async def _keep_current(self) -> NoReturn:
        failures = 0
        while True:
            begun = time.monotonic()
            try:
                await self._list_and_watch()
            except Gone as error:
                _log.info("listing again", resource=self._path.resource, cause=str(error))
                self._must_list = True
                self._lost()
            except (ApiError, Undecodable) as error:
                failures += 1
                _log.warning("watch broke", resource=self._path.resource, error=str(error))
                self._must_list |= failures % self._terms.failures_before_list == 0
                self._lost()
            else:
                failures = 0
            # A server that ends every watch at once must not be asked in a busy loop either.
            if failures or time.monotonic() - begun < self._terms.first_retry_seconds:
                await asyncio.sleep(self._retry_seconds(failures))

    async def _list_and_watch(self) -> None:
        if self._must_list:
            await self._list()
        await self._watch()

    async def _list(self) -> None:
        telemetry.WATCH_RELISTS.labels(self._path.resource).inc()
        begun = time.monotonic()
        items: list[T] = []
        version = 0
        pages = self._client.pages(
            self._path, self._type, selection=self._selection, page_size=self._terms.page_size
        )
        async for page in pages:
            items.extend(kept for item in page.items or () if (kept := self._store.keep(item)))
            version = int(page.metadata.resource_version)
        self._store.listed(items, version)
        self._must_list = begun < self._anew_from
        self._listed_at = self._current_at = begun
        self._synced.set()
        self._changed()

    async def _watch(self) -> None:
        # Unequal lengths keep the watches of many replicas from ending together.
        seconds = random.randint(self._terms.watch_seconds, self._terms.longest_seconds)  # noqa: S311
        query = {
            "resourceVersion": str(self._store.position),
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(seconds),
            **self._selection.query,
        }
        silence = seconds + self._terms.grace_seconds
        async with self._client.watch(self._path, query, silence_seconds=silence) as chunks:
            self._current_at = time.monotonic()
            async for lines in _lines(chunks):
                self._take(lines)

    def _take(self, lines: list[bytes]) -> None:
        changed = False
        try:
            for line in lines:
                changed |= self._told(decoded(line, _Event))
            self._current_at = time.monotonic()
        finally:
            if changed:
                self._changed()

    def _told(self, event: _Event) -> bool:
        body = bytes(event.object)
        match event.type:
            case "ADDED" | "MODIFIED":
                return self._store.told(decoded(body, self._type))
            case "DELETED":
                return self._store.told_gone(decoded(body, self._type))
            case "BOOKMARK":
                bookmark = decoded(body, _Bookmark)
                self._store.moved_to(int(bookmark.metadata.resource_version))
                return False
            case "ERROR":
                raise failure_of(decoded(body, Status))
            case _:
                raise Undecodable(f"a watch event of unknown type {event.type!r}")

    def _retry_seconds(self, failures: int) -> float:
        terms = self._terms
        wait = terms.first_retry_seconds * 2 ** min(max(failures - 1, 0), 10)
        return min(wait, terms.longest_retry_seconds) * random.uniform(0.5, 1.0)  # noqa: S311


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    """The complete lines of a stream, as many at a time as have come."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield lines
