"""A server in the place of an API server of which a kind comes and goes, as a test sets it.

How a true API server lists and watches is tested with a true one.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from plimsoll.kube.http.credentials import Endpoint
from plimsoll_devcluster.manifest import Manifest
from support.servers.answering_server import answering

GROUP, VERSION, PLURAL = "example.com", "v1", "trainings"
_ROOT = f"/apis/{GROUP}/{VERSION}"
_NOT_FOUND = 404


@dataclass
class ComingAndGoing:
    """What it serves: a kind or not, or only errors; and how often it was asked, by path.

    `plurals` are the kinds in the group, which itself is not there if it has none.
    """

    plurals: tuple[str, ...] = ()
    error: int = 0
    names: tuple[str, ...] = ()
    lists: bool = True
    asked: Counter[str] = field(default_factory=Counter[str])
    server: Endpoint = field(default_factory=lambda: Endpoint("", None, lambda: None))

    @property
    def looks(self) -> int:
        """How often it was asked which kinds it serves."""
        return self.asked[_ROOT]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer for the group, or for its kind."""
        self.asked[request.path] += 1
        if request.path == _ROOT:
            return self._kinds()
        if PLURAL not in self.plurals:
            return _failure(_NOT_FOUND)
        return await self._watched(request) if "watch" in request.query else self._listed()

    def _kinds(self) -> web.Response:
        if self.error:
            return _failure(self.error)
        if not self.plurals:
            return _failure(_NOT_FOUND)
        return web.json_response({"resources": [{"name": each} for each in self.plurals]})

    def _listed(self) -> web.Response:
        if not self.lists:
            return _failure(503)
        items = [_item(name) for name in self.names]
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": items})

    async def _watched(self, request: web.Request) -> web.StreamResponse:
        """A watch in which nothing happens."""
        response = web.StreamResponse()
        await response.prepare(request)
        bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "1"}}}
        await response.write(json.dumps(bookmark).encode() + b"\n")
        await asyncio.Event().wait()
        return response


def _item(name: str) -> Manifest:
    meta = {"name": name, "namespace": "team", "uid": f"uid-{name}", "resourceVersion": "1"}
    return {"metadata": meta}


def _failure(code: int) -> web.Response:
    return web.json_response({"kind": "Status", "code": code, "message": "no"}, status=code)


@asynccontextmanager
async def coming_and_going() -> AsyncGenerator[ComingAndGoing]:
    """Serve on loopback until the block ends; the kind is not served yet."""
    kinds = ComingAndGoing()
    async with answering(kinds.answer) as kinds.server:
        yield kinds
