"""A proxy in front of an API server that fails on command, as networks and load balancers do."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from http import HTTPStatus
from weakref import WeakSet

import aiohttp
from aiohttp import web

from plimsoll.kube.http.credentials import Endpoint
from plimsoll_devcluster.proxies.fault_kinds import (
    REFUSALS,
    Armed,
    Fault,
    changes_something,
    forgotten,
    is_watch,
    refusal,
)
from plimsoll_devcluster.proxies.passing_on import (
    address_of,
    answer_like,
    never,
    passed_on,
    passing_session,
    served,
)

DELAY_SECONDS = 1.0
_REMEMBERED = 100_000


class FaultyProxy:
    """Passes requests on until told to fail, from the next request or chunk on.

    `answers` are returned, in order, instead of passing requests on. `rewritten_version` replaces,
    once, the version from which a watch asks to continue. `requests` are the latest, `forbidden`
    those that the server refused for lack of rights, and `fired` counts actual hits, by fault.
    `deaf_seconds` holds the time until what a half-open connection had been watching was watched
    anew. It belongs to the event loop that it runs in.
    """

    def __init__(self, server: Endpoint) -> None:
        self._server = server
        self.answers: list[web.Response] = []
        self.rewritten_version: str | None = None
        self.requests: deque[str] = deque(maxlen=_REMEMBERED)
        self.forbidden: list[str] = []
        self.fired: Counter[Fault] = Counter()
        self.writes = 0
        """How many were passed on; those of Leases do not count."""
        self.deaf_seconds: list[float] = []
        self.holds_writes = False
        """Whether all permitted writes are over, and one more is held back."""
        self._writes_left: int | None = None
        self._armed: list[Armed] = []
        self._forgotten = 0
        self._speaks = asyncio.Event()
        self._speaks.set()
        self._watches: dict[asyncio.Transport, str] = {}
        self._open: set[asyncio.Transport] = set()
        self._half_open: WeakSet[asyncio.Transport] = WeakSet()
        self.deaf_since: dict[str, float] = {}
        """The paths watched by half-open connections, and since when these are half-open."""
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None

    @property
    def is_armed(self) -> bool:
        """Whether a fault waits for its requests."""
        return bool(self._armed) or self._writes_left is not None

    @property
    def watches(self) -> int:
        """How many watches are open."""
        return len(self._watches)

    def is_listened_to(self, within: str = "") -> bool:
        """Whether a watch of such a path is open, as happens soon after an operator has started."""
        return any(within in path for path in tuple(self._watches.values()))

    def arm(self, armed: Armed) -> None:
        """Let the next matching requests meet a fault."""
        self._armed.append(armed)

    def disarm(self) -> None:
        """Let all requests through again; half-open connections stay so."""
        self._armed.clear()
        self._forgotten = 0
        self.let_write()
        self.speak()

    def let_write(self, writes: int | None = None) -> None:
        """Let only so many more writes through, and hold back what follows; None: all."""
        self._writes_left, self.holds_writes = writes, False

    def fall_silent(self, seconds: float | None = None) -> None:
        """Hold back all responses without closing connections, for this long or until `speak`."""
        self.fired[Fault.SILENT] += 1
        self._speaks.clear()
        if seconds is not None:
            asyncio.get_running_loop().call_later(seconds, self.speak)

    def speak(self) -> None:
        """Let through all responses that were held, and what follows."""
        self._speaks.set()

    def cut(self) -> None:
        """Break all connections on which a response is in progress."""
        self._cut(Fault.CUT, self._open)

    def forget(self) -> None:
        """Break every watch, and tell the next ones that their version is forgotten."""
        self._forgotten += len(self._watches)
        self._cut(Fault.GONE, self._watches)

    def half_open(self, within: str = "") -> None:
        """Let nothing arrive any more, in either direction, on any current connection.

        None is closed, and new ones are whole, as when a machine in between loses its state. With
        `within`, only connections of watches of such paths.
        """
        chosen = {each: path for each, path in self._watches.items() if within in path}
        self.fired[Fault.HALF_OPEN] += bool(chosen)
        self._half_open |= chosen.keys() if within else self._connections()
        now = asyncio.get_running_loop().time()
        self.deaf_since = dict.fromkeys(chosen.values(), now) | self.deaf_since

    def _connections(self) -> set[asyncio.Transport]:
        server = self._runner and self._runner.server
        found = (each.transport for each in (server.connections if server else ()))
        return {each for each in found if isinstance(each, asyncio.Transport)}

    def _cut(self, fault: Fault, transports: Collection[asyncio.Transport]) -> None:
        self.fired[fault] += bool(transports)
        for transport in list(transports):
            transport.abort()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Endpoint]:
        """The proxy, as a server of its own."""
        async with passing_session() as self._session, served(self._handle) as self._runner:
            yield replace(self._server, server=address_of(self._runner), tls=None)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        transport = _transport(request)
        if transport in self._half_open:
            await never()
        asked = f"{request.method} {request.path_qs}"
        self.requests.append(asked)
        if self.answers:
            return self.answers.pop(0)
        fault = self._fault_of(request)
        if fault is Fault.GONE:
            return forgotten()
        if fault is not None and fault in REFUSALS:
            return refusal(fault)
        if fault is Fault.DELAYED:
            await asyncio.sleep(DELAY_SECONDS)
        if changes_something(request):
            await self._pass_gate()
            self.writes += 1
        assert self._session is not None  # noqa: S101 - served only while there is one
        async with passed_on(request, self._session, self._server, self._query(request)) as answer:
            if fault is Fault.ANSWER_LOST:
                await answer.read()
                transport.abort()
                return web.Response()
            if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
                self.forbidden.append(asked)
            return await self._passed_back(request, answer)

    def _fault_of(self, request: web.Request) -> Fault | None:
        if is_watch(request) and self._forgotten:
            self._forgotten -= 1
            return Fault.GONE
        for armed in self._armed:
            if armed.hits(request):
                armed.requests -= 1
                if not armed.requests:
                    self._armed.remove(armed)
                self.fired[armed.fault] += 1
                return armed.fault
        return None

    async def _pass_gate(self) -> None:
        if self._writes_left is None:
            return
        if not self._writes_left:
            self.holds_writes = True
            await never()
        self._writes_left -= 1

    def _query(self, request: web.Request) -> str:
        if self.rewritten_version is None or not is_watch(request):
            return ""
        version, self.rewritten_version = self.rewritten_version, None
        return request.rel_url.update_query(resourceVersion=version).raw_query_string

    async def _passed_back(
        self, request: web.Request, upstream: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        response, transport = answer_like(upstream), _transport(request)
        self._open.add(transport)
        try:
            await self._may_pass(transport)
            await response.prepare(request)
            if is_watch(request):
                self._begin_watch(transport, request.path)
            async for chunk in upstream.content.iter_any():
                await self._may_pass(transport)
                await response.write(chunk)
            await self._may_pass(transport)
            await response.write_eof()
        except ConnectionResetError:
            pass  # the client has gone
        finally:
            self._watches.pop(transport, None)
            self._open.discard(transport)
        return response

    def _begin_watch(self, transport: asyncio.Transport, path: str) -> None:
        self._watches[transport] = path
        if (since := self.deaf_since.pop(path, None)) is not None:
            self.deaf_seconds.append(asyncio.get_running_loop().time() - since)

    async def _may_pass(self, transport: asyncio.Transport) -> None:
        await self._speaks.wait()
        if transport in self._half_open:
            await never()


def _transport(request: web.Request) -> asyncio.Transport:
    assert request.transport is not None  # noqa: S101 - there is one until it is answered
    return request.transport
