"""A server in the place of the API server that forwards a pod's port to one of this machine.

No fake node's kubelet does. The frames are those of Kubernetes' `v4.channel.k8s.io`.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from aiohttp import web

from plimsoll.kube.http.credentials import Endpoint
from support.servers.answering_server import answering

TOKEN = "the-users-token"
CONSOLE = {
    "metadata": {"name": "plimsoll-console-0", "namespace": "home"},
    "spec": {
        "containers": [
            {
                "ports": [{"name": "console", "containerPort": 8090}],
                "livenessProbe": {"httpGet": {"path": "/healthz", "port": "console"}},
            }
        ]
    },
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}


class ForwardingServer:
    """Knows the pod of one console, which serves at `port`, unless it is `gone`, and one user.

    `forbidden` is the end of paths that this user may not ask for.
    """

    def __init__(self, port: int, token: str = TOKEN) -> None:
        self.port, self.gone = port, False
        self._own = f"Bearer {token}"
        self.forbidden: tuple[str, ...] = ()
        self.asked: list[str] = []

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Endpoint]:
        """Serve until the block ends."""
        async with answering(self._answer) as endpoint:
            yield endpoint

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path_qs)
        if request.headers.get("Authorization", self._own) != self._own:
            return web.Response(status=401)
        if request.path.endswith(self.forbidden):
            return web.Response(status=403, text="forbidden")
        if request.path.endswith("/portforward"):
            return await self._forwarded(request)
        items = [] if self.gone else [CONSOLE]
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": items})

    async def _forwarded(self, request: web.Request) -> web.StreamResponse:
        assert request.query["ports"] == "8090"
        socket = web.WebSocketResponse(protocols=("v4.channel.k8s.io",))
        await socket.prepare(request)
        for channel in (0, 1):
            await socket.send_bytes(bytes([channel]) + (8090).to_bytes(2, "little"))
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        sending = asyncio.create_task(_send(reader, socket))
        async for message in socket:
            assert message.data[0] == 0
            writer.write(message.data[1:])
            await writer.drain()
        sending.cancel()
        writer.close()
        return socket


async def _send(reader: asyncio.StreamReader, socket: web.WebSocketResponse) -> None:
    with suppress(ConnectionError):
        while chunk := await reader.read(4096):
            await socket.send_bytes(b"\0" + chunk)
        await socket.close()
