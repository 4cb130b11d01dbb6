"""Follow one collection of the API server, and track how current its copy is.

A list, then a watch from its version on. Bookmarks keep the version recent, a version that the
server has forgotten leads to a new list, and a connection silent for longer than the server ever
would be is dropped. An unreadable object affects only itself. Where events go, and what they mean,
is decided elsewhere.
"""

import asyncio
import math
import random
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, Protocol, TypeVar

import msgspec

from plimsoll.errors import ApiError, Gone, Undecodable
from plimsoll.kube.http.client import KubeClient, Selection
from plimsoll.kube.http.resources import Resource
from plimsoll.kube.http.responses import decoded, failure_of
from plimsoll.kube.http.tolerant_decoding import Unread, identity, read
from plimsoll.kube.objects.objects import ObjectMeta, Status
from plimsoll.vocabulary import logs, metrics

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
K = TypeVar("K")

_log = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class WatchTerms:
    """How long a watch lasts, and its timeouts.

    The server sends a bookmark 2 s before it ends a watch, so the duration of one also bounds how
    long a quiet cluster goes without confirmation that we are current. A watch that is silent for
    `grace_seconds` beyond its end is dead: HTTP/1.1 has no pings to detect that sooner. client-go
    has, and takes 45 s (kubernetes/kubernetes#95981).
    """

    watch_seconds: int = 18
    grace_seconds: float = 6.0
    page_size: int = 500
    first_retry_seconds: float = 0.2
    longest_retry_seconds: float = 10.0
    failures_before_list: int = 5
    longest_between_lists_seconds: float = math.inf
    doubt_seconds: float = 2.0
    """How long a watch may fail to report a difference that was found by other means."""

    @property
    def longest_seconds(self) -> int:
        """The longest that a watch lasts."""
        return self.watch_seconds * 4 // 3

    @property
    def longest_silence_seconds(self) -> float:
        """The longest silence on a connection that has died unnoticed."""
        return self.longest_seconds + self.grace_seconds


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class Sink(Protocol[T_contra, K]):
    """The receiver of a collection's events, and its position."""

    @property
    def position(self) -> int:
        """The version up to which all events were received."""
        ...

    @property
    def unread(self) -> Collection[object]:
        """The objects whose current version cannot be read."""
        ...

    def __len__(self) -> int:
        """The number of objects."""
        ...

    def keep(self, item: T_contra, /) -> K | None:
        """What to keep of an object in a list; None: nothing."""
        ...

    def listed(self, items: Iterable[K], version: int, unread: Iterable[ObjectMeta]) -> None:
        """Receive a complete list: what was kept of it, and what could not be read."""
        ...

    def received(self, item: T_contra) -> bool:
        """Receive an object that is new or changed; return whether anything relevant changed."""
        ...

    def received_unreadable(self, meta: ObjectMeta) -> None:
        """Receive that an object is new or changed, but cannot be read."""
        ...

    def deleted(self, meta: ObjectMeta) -> bool:
        """Receive that an object is deleted; return whether it was known."""
        ...

    def moved_to(self, version: int) -> None:
        """Receive that nothing else has happened up to a version."""
        ...


class Follower(Generic[T]):
    """Feeds all objects of a collection to a sink while `run` runs.

    `changed` is called after each list, and after each batch of events in which anything but
    versions changed.
    """

    def __init__(  # noqa: PLR0913 - what to follow, and where it goes, by name
        self,
        client: KubeClient,
        resource: Resource,
        type_: type[T],
        sink: Sink[T, Any],
        *,
        namespace: str = "",
        selection: Selection | None = None,
        changed: Callable[[], None] = lambda: None,
        terms: WatchTerms | None = None,
    ) -> None:
        self._client = client
        self._path = resource.within(namespace) if namespace else resource.everywhere()
        self._type, self._sink = type_, sink
        self._selection = selection or Selection()
        self._changed = changed
        self._terms = terms or WatchTerms()
        self._synced = asyncio.Event()
        self._must_list = True
        self._listed_at = -math.inf
        self._anew_from = -math.inf
        self._anew: asyncio.Timeout | None = None
        self._doubt: asyncio.TimerHandle | None = None
        self._listing = False
        self._current_at = -math.inf
        metrics.WATCH_STALENESS.labels(resource.plural).set_function(
            lambda: self.staleness_seconds(time.monotonic())
        )
        metrics.WATCHED_OBJECTS.labels(resource.plural).set_function(lambda: len(sink))
        metrics.UNREAD_OBJECTS.labels(resource.plural).set_function(lambda: len(sink.unread))

    @property
    def name(self) -> str:
        """The plural of the watched resource."""
        return self._path.resource

    @property
    def synced(self) -> bool:
        """Whether everything has been listed once."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        """Return when everything has been listed once."""
        await self._synced.wait()

    def staleness_seconds(self, now: float) -> float:
        """How long ago, on the monotonic clock, the copy was certainly current."""
        return max(0.0, now - self._current_at)

    def is_from(self, moment: float) -> bool:
        """Whether all was listed at that moment of the monotonic clock or later; if not, relist.

        A silent watch may be dead, so only a list proves that nothing was missed.
        """
        if self._listed_at >= moment:
            return True
        if self._anew_from < moment:
            self._anew_from, self._must_list = moment, True
            if self._anew is not None and not self._anew.expired():
                self._anew.reschedule(asyncio.get_running_loop().time())
        return False

    def doubt(self) -> None:
        """List again unless the watch reports soon: it is missing something.

        A live watch catches up by itself, and somebody who keeps creating and deleting objects must
        not cause a full list each time.
        """
        if self._doubt is None:
            loop, moment = asyncio.get_running_loop(), time.monotonic()
            self._doubt = loop.call_later(self._terms.doubt_seconds, self._confirm, moment)

    def _confirm(self, moment: float) -> None:
        self._doubt = None
        if self._current_at < moment and not self._listing:
            self.is_from(moment)

    async def run(self) -> NoReturn:
        """List and watch until cancelled; each start begins with a new list."""
        self._must_list = True
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
            except ApiError as error:
                failures += 1
                _log.warning("watch broke", resource=self._path.resource, error=str(error))
                self._must_list |= failures % self._terms.failures_before_list == 0
            else:
                failures = 0
            # A server that ends every watch at once must not cause a busy loop either.
            if failures or time.monotonic() - begun < self._terms.first_retry_seconds:
                await asyncio.sleep(self._retry_seconds(failures))

    async def _list_and_watch(self) -> None:
        is_old = time.monotonic() - self._listed_at > self._terms.longest_between_lists_seconds
        if self._must_list or is_old:
            await self._list()
        await self._watch()

    async def _list(self) -> None:
        metrics.WATCH_RELISTS.labels(self._path.resource).inc()
        self._listing = True
        try:
            await self._list_all()
        finally:
            self._listing = False
        self._synced.set()
        self._changed()

    async def _list_all(self) -> None:
        begun = time.monotonic()
        kept: list[object] = []
        unread: list[ObjectMeta] = []
        version = 0
        pages = self._client.pages(
            self._path, self._type, selection=self._selection, page_size=self._terms.page_size
        )
        async for page in pages:
            kept.extend(one for item in page.items if (one := self._sink.keep(item)) is not None)
            unread.extend(self._noted(each) for each in page.unread)
            version = int(page.metadata.resource_version)
        self._sink.listed(kept, version, unread)
        self._must_list = begun < self._anew_from
        self._listed_at = self._current_at = begun

    def _noted(self, found: Unread) -> ObjectMeta:
        meta, resource = found.metadata, self._path.resource
        name = f"{meta.namespace}/{meta.name}".lstrip("/")
        _log.warning("object not read", resource=resource, object=name, error=found.error)
        return meta

    async def _watch(self) -> None:
        # Random durations keep the watches of many replicas from ending together.
        seconds = random.randint(self._terms.watch_seconds, self._terms.longest_seconds)  # noqa: S311
        query = {
            "resourceVersion": str(self._sink.position),
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
                changed |= self._pass_on(decoded(line, _Event))
            self._current_at = time.monotonic()
        finally:
            if changed:
                self._changed()

    def _pass_on(self, event: _Event) -> bool:
        body, sink = bytes(event.object), self._sink
        match event.type:
            case "ADDED" | "MODIFIED":
                found = read(body, self._type)
                if not isinstance(found, Unread):
                    return sink.received(found)
                sink.received_unreadable(self._noted(found))
                return False
            case "DELETED":
                return sink.deleted(identity(body))
            case "BOOKMARK":
                sink.moved_to(int(identity(body).resource_version))
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
    """The complete lines of a stream, as many at a time as have arrived."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield lines
