"""Pass requests on from clients to their API server, and the responses back."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TypeVar

import aiohttp
import yaml
from aiohttp import web

from plimsoll.kube.http.credentials import Endpoint
from plimsoll_devcluster.processes.credentials import write_secret

READS = ("GET", "HEAD", "OPTIONS")
_KEPT = ("Content-Type", "Content-Encoding", "Retry-After")
T = TypeVar("T")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def served(handle: Handler) -> AsyncGenerator[web.AppRunner]:
    """A server on this machine, which gives every request to `handle`."""
    app = web.Application(client_max_size=2**24)
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner
    finally:
        await runner.cleanup()


def address_of(runner: web.AppRunner) -> str:
    """The address of such a server."""
    return f"http://127.0.0.1:{runner.addresses[0][1]}"


@asynccontextmanager
async def passing_session() -> AsyncGenerator[aiohttp.ClientSession]:
    """A session that leaves responses unmodified, however long they take and however many."""
    connector = aiohttp.TCPConnector(limit=0)
    patience = aiohttp.ClientTimeout()
    async with aiohttp.ClientSession(
        auto_decompress=False, connector=connector, timeout=patience
    ) as session:
        yield session


@asynccontextmanager
async def passed_on(
    request: web.Request, session: aiohttp.ClientSession, server: Endpoint, query: str = ""
) -> AsyncGenerator[aiohttp.ClientResponse]:
    """The server's response to a request; `query` replaces that of the request."""
    async with session.request(
        request.method,
        server.server + (f"{request.path}?{query}" if query else request.path_qs),
        data=await request.read() or None,
        headers={k: v for k, v in request.headers.items() if k != "Host"},
        ssl=server.tls or False,
    ) as upstream:
        yield upstream


def answer_like(upstream: aiohttp.ClientResponse) -> web.StreamResponse:
    """A response to pass back, without its body."""
    headers = {name: upstream.headers[name] for name in _KEPT if name in upstream.headers}
    return web.StreamResponse(status=upstream.status, headers=headers)


async def never() -> None:
    """Wait until the client gives up."""
    await asyncio.get_running_loop().create_future()


@contextmanager
def in_a_thread(running: AbstractAsyncContextManager[T]) -> Generator[T]:
    """Enter an asynchronous context in a thread of its own, whose event loop it belongs to."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        found = asyncio.run_coroutine_threadsafe(running.__aenter__(), loop).result()
        try:
            yield found
        finally:
            ending = running.__aexit__(None, None, None)
            asyncio.run_coroutine_threadsafe(ending, loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def kubeconfig_to(address: str, kubeconfig: Path, folder: Path) -> Path:
    """A copy of `kubeconfig` with the server at that address."""
    config = yaml.safe_load(kubeconfig.read_text())
    config["clusters"][0]["cluster"] = {"server": address}
    return write_secret(folder / "kubeconfig-of-proxy", yaml.safe_dump(config))
