"""A server in the place of the API server that answers as it is told, for what that never does.

How the true API server answers is tested with a true one.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from plimsoll.kube.http.credentials import Endpoint
from plimsoll_devcluster.proxies.passing_on import address_of, served

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def answering(answer: Answer) -> AsyncGenerator[Endpoint]:
    """Serve on loopback until the block ends."""
    async with served(answer) as runner:
        yield Endpoint(address_of(runner), None, lambda: None)


def always(body: bytes, status: int = 200) -> Answer:
    """The same answer to everything."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=body, status=status, content_type="application/json")

    return answer
