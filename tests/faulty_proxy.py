"""A proxy before the API server that fails on command, as networks and load balancers do."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from http import HTTPStatus

import aiohttp
from aiohttp import web

from plimsoll.kube.credentials import Endpoint


class FaultyProxy:
    """Passes requests on until it is told to fail, from the next request or chunk on.

    `answers` are given instead of passing requests on, the first one first. `rewritten_version`
    replaces, once, the version that a watch asks to go on from. `requests` are all that came,
    `forbidden` those that the server refused for want of rights.
    """

    def __init__(self, server: Endpoint) -> None:
        self._server = server
        self.answers: list[web.Response] = []
        self.rewritten_version: str | None = None
        self.requests: list[str] = []
        self.watches = 0
        self.forbidden: list[str] = []
        self._speaks = asyncio.Event()
        self._speaks.set()
        self._open: set[asyncio.Transport] = set()

    def fall_silent(self) -> None:
        """Let nothing more come back, yet close no connection."""
        self._speaks.clear()

    def speak(self) -> None:
        """Let everything come back that was held, and what follows."""
        self._speaks.set()

    def cut(self) -> None:
        """Break all connections on which something comes back now."""
        for transport in self._open:
            transport.abort()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Endpoint]:
        """The proxy, as a server of its own."""
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            address = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield replace(self._server, server=address, tls=None)
        finally:
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        asked = f"{request.method} {request.path_qs}"
        self.requests.append(asked)
        if self.answers:
            return self.answers.pop(0)
        query = dict(request.query)
        if self.rewritten_version is not None and "watch" in query:
            query["resourceVersion"], self.rewritten_version = self.rewritten_version, None
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.request(
                request.method,
                self._server.server + request.path,
                params=query,
                data=await request.read() or None,
                headers={k: v for k, v in request.headers.items() if k != "Host"},
                ssl=self._server.tls or False,
                timeout=aiohttp.ClientTimeout(),
            ) as upstream,
        ):
            if upstream.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
                self.forbidden.append(asked)
            return await self._pass_back(request, upstream)

    async def _pass_back(
        self, request: web.Request, upstream: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        kept = ("Content-Type", "Content-Encoding")
        headers = {name: upstream.headers[name] for name in kept if name in upstream.headers}
        response = web.StreamResponse(status=upstream.status, headers=headers)
        transport = request.transport
        assert transport is not None
        is_watch = "watch" in request.query
        self._open.add(transport)
        try:
            await self._speaks.wait()
            await response.prepare(request)
            self.watches += is_watch
            async for chunk in upstream.content.iter_any():
                await self._speaks.wait()
                await response.write(chunk)
            await response.write_eof()
        finally:
            self._open.discard(transport)
            self.watches -= is_watch and response.prepared
        return response
