"""Forward connections to a port of a pod through the API server, with the user's own rights.

Each connection is a WebSocket whose frames begin with the number of a channel: 0 is what is sent
and received, 1 what went wrong. The first frame of a channel names the port.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

import aiohttp
from yarl import URL

from plimsoll.errors import ApiError, Unavailable
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.http.resources import PODS
from plimsoll.kube.http.responses import failure
from plimsoll.vocabulary import logs

_PROTOCOL: Final = "v4.channel.k8s.io"
_DATA, _ERROR = 0, 1
_CHUNK_BYTES: Final = 64 * 1024
_CONNECT_SECONDS: Final = 10.0
_log = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class PodPort:
    """A port of a pod."""

    namespace: str
    pod: str
    port: int


class PortForward:
    """Forwards what connects to a local port."""

    def __init__(self, endpoint: Endpoint, target: PodPort) -> None:
        self._endpoint, self._target = endpoint, target
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(sock_connect=_CONNECT_SECONDS)
        )

    @asynccontextmanager
    async def listening(self, port: int) -> AsyncGenerator[int]:
        """Listen on loopback while the block lasts; return the port. Raises OSError.

        Port 0 takes any free one.
        """
        server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        try:
            yield int(server.sockets[0].getsockname()[1])
        finally:
            server.close()
            await self._session.close()

    async def check(self) -> None:
        """Raise ApiError if the port cannot be forwarded."""
        socket = await self._connected()
        await socket.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            socket = await self._connected()
            sending = asyncio.create_task(_send(reader, socket))
            try:
                await _receive(socket, writer)
            finally:
                sending.cancel()
                await socket.close()
        except (ApiError, aiohttp.ClientError, OSError) as error:
            _log.warning("a connection was lost", error=str(error))
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _connected(self) -> aiohttp.ClientWebSocketResponse:
        where, server = self._target, self._endpoint
        path = PODS.named(where.pod, where.namespace, "portforward").url
        given = server.authorization()
        try:
            return await self._session.ws_connect(
                URL(f"{server.server}{path}?ports={where.port}", encoded=True),
                protocols=(_PROTOCOL,),
                headers={} if given is None else {"Authorization": given},
                ssl=server.tls or False,
                server_hostname=server.server_hostname,
                proxy=server.proxy,
                max_msg_size=0,
            )
        except aiohttp.WSServerHandshakeError as error:
            said = f"port {where.port} of pod {where.namespace}/{where.pod} is not forwarded"
            raise failure(error.status, said.encode()) from error
        except (aiohttp.ClientError, OSError) as error:
            raise Unavailable(f"the API server cannot be reached: {error}") from error


async def _send(reader: asyncio.StreamReader, socket: aiohttp.ClientWebSocketResponse) -> None:
    while chunk := await reader.read(_CHUNK_BYTES):
        await socket.send_bytes(bytes([_DATA]) + chunk)


async def _receive(socket: aiohttp.ClientWebSocketResponse, writer: asyncio.StreamWriter) -> None:
    begun: set[int] = set()
    async for message in socket:
        if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
            continue
        channel, rest = message.data[0], message.data[1:]
        if channel not in begun:
            begun.add(channel)  # this frame names the port
        elif channel == _DATA:
            writer.write(rest)
            await writer.drain()
        elif channel == _ERROR:
            raise aiohttp.ClientError(rest.decode(errors="replace"))
