"""A server in the place of an API server whose targets hang or are endless, as a test sets them.

How a true API server answers is tested with a true one.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from plimsoll.kube.http.credentials import Endpoint

KINDS = {
    "resources": [
        {"name": "deployments", "kind": "Deployment", "namespaced": True},
        {"name": "deployments/scale", "kind": "Scale", "namespaced": True},
    ]
}


@dataclass
class Targets:
    """What it serves: Deployments of which some hang; and what it was asked."""

    hangs: frozenset[str] = frozenset()
    """The namespaces whose targets never answer."""
    fails: bool = False
    body: bytes | None = None
    under_way: Counter[str] = field(default_factory=Counter[str])
    most_under_way: Counter[str] = field(default_factory=Counter[str])
    asked: Counter[str] = field(default_factory=Counter[str])
    server: Endpoint = field(default_factory=lambda: Endpoint("", None, lambda: None))

    async def workload(self, request: web.Request) -> web.StreamResponse:
        """Answer for a Deployment or its `/scale`."""
        namespace, name = request.match_info["namespace"], request.match_info["name"]
        self.asked[f"{namespace}/{name}"] += 1
        self.under_way[namespace] += 1
        most = max(self.most_under_way[namespace], self.under_way[namespace])
        self.most_under_way[namespace] = most
        try:
            return await self._answer(namespace, name)
        finally:
            self.under_way[namespace] -= 1

    async def _answer(self, namespace: str, name: str) -> web.StreamResponse:
        if namespace in self.hangs:
            await asyncio.Event().wait()
        if self.fails:
            return web.json_response({"message": "broken"}, status=500)
        if self.body is not None:
            return web.Response(body=self.body)
        return web.json_response(_workload(name))


def _workload(name: str) -> dict[str, Any]:
    meta = {"name": name, "resourceVersion": "1"}
    return {"metadata": meta, "spec": {"replicas": 1}, "status": {"selector": "app=web"}}


@asynccontextmanager
async def serving_targets(**facts: Any) -> AsyncGenerator[Targets]:  # noqa: ANN401 - as a test sets them
    """Serve on loopback until the block ends."""
    targets = Targets(**facts)
    app = web.Application()
    app.router.add_get("/apis/apps/v1", _kinds)
    place = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    app.router.add_get(place, targets.workload)
    app.router.add_get(f"{place}/scale", targets.workload)
    app.router.add_patch(f"{place}/scale", targets.workload)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    targets.server = Endpoint(f"http://127.0.0.1:{port}", None, lambda: None)
    try:
        yield targets
    finally:
        await runner.cleanup()


async def _kinds(_: web.Request) -> web.Response:
    return web.json_response(KINDS)
