"""A gate before the API server that lets some writes through and holds back all that follow.

What is behind it can then be killed, and just so much was written by it; what the server refuses
does not count. It can also spoil each write once, before it is carried out or after. Leases are
always let through: who leads is not the question here.
"""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from enum import Enum, auto
from http import HTTPStatus
from pathlib import Path

import aiohttp
import yaml
from aiohttp import web

from plimsoll.kube.credentials import Endpoint, endpoint
from plimsoll_devcluster.credentials import write_secret

_READS = ("GET", "HEAD", "OPTIONS")


class Spoil(Enum):
    """What happens to each write when it is tried for the first time."""

    NOT_CARRIED_OUT = auto()
    ANSWER_LOST = auto()


class WriteGate:
    """Counts writes; asked from the test's thread, used by the thread of the proxy."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left = 0
        self._under_way = 0
        self._held = 0
        self.written: list[str] = []
        self.spoil: Spoil | None = None
        self.spoilt: set[str] = set()

    def allow(self, writes: int) -> None:
        """Let so many more writes through, and no others."""
        with self._lock:
            self._left, self._held = writes, 0

    @property
    def is_spent(self) -> bool:
        """Whether all allowed writes are answered, and one more is held back."""
        with self._lock:
            return self._left == 0 and self._under_way == 0 and self._held > 0

    def enter(self, write: str) -> bool:
        """Whether a write may pass."""
        with self._lock:
            if not self._left:
                self._held += 1
                return False
            self._left -= 1
            self._under_way += 1
            self.written.append(write)
            return True

    def spoils(self, write: str) -> Spoil | None:
        """What happens to a write now."""
        with self._lock:
            if write in self.spoilt or self.spoil is None:
                return None
            self.spoilt.add(write)
            return self.spoil

    def leave(self, *, done: bool) -> None:
        """A write is answered."""
        with self._lock:
            self._under_way -= 1
            self._left += not done


@contextmanager
def write_gate(kubeconfig: Path, folder: Path) -> Generator[tuple[WriteGate, Path]]:
    """Yield a gate before a cluster, and the kubeconfig that leads through it."""
    gate = WriteGate()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = endpoint(kubeconfig)
    runner, port = asyncio.run_coroutine_threadsafe(_serve(gate, server), loop).result()
    try:
        yield gate, _leading_to(f"http://127.0.0.1:{port}", kubeconfig, folder)
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _leading_to(address: str, kubeconfig: Path, folder: Path) -> Path:
    config = yaml.safe_load(kubeconfig.read_text())
    config["clusters"][0]["cluster"] = {"server": address}
    return write_secret(folder / "gate-kubeconfig", yaml.safe_dump(config))


async def _serve(gate: WriteGate, server: Endpoint) -> tuple[web.AppRunner, int]:
    async def handle(request: web.Request) -> web.StreamResponse:
        if request.method in _READS or "/leases" in request.path:
            return await _passed_on(request, server)
        write = await _named(request)
        spoil = gate.spoils(write)
        if spoil is Spoil.NOT_CARRIED_OUT:
            return _failure()
        if not gate.enter(write):
            await asyncio.get_running_loop().create_future()  # until whoever asks is dead
        if spoil is Spoil.ANSWER_LOST:
            async with _asked(request, server) as upstream:
                await upstream.read()
            gate.leave(done=upstream.ok)
            return _failure()
        answer = await _passed_on(request, server)
        gate.leave(done=answer.status < HTTPStatus.BAD_REQUEST)
        return answer

    app = web.Application(client_max_size=2**24)
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, runner.addresses[0][1]


async def _named(request: web.Request) -> str:
    """A write by what it does to which object."""
    if request.method == "POST":
        name = json.loads(await request.read())["metadata"]["name"]
        return f"POST {request.path}/{name}"
    return f"{request.method} {request.path}"


def _failure() -> web.Response:
    status = {"kind": "Status", "status": "Failure", "code": 500, "message": "etcd is away"}
    return web.json_response(status, status=HTTPStatus.INTERNAL_SERVER_ERROR)


@asynccontextmanager
async def _asked(request: web.Request, server: Endpoint) -> AsyncGenerator[aiohttp.ClientResponse]:
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.request(
            request.method,
            server.server + request.path_qs,
            data=await request.read() or None,
            headers={k: v for k, v in request.headers.items() if k != "Host"},
            ssl=server.tls or False,
            timeout=aiohttp.ClientTimeout(),
        ) as upstream,
    ):
        yield upstream


async def _passed_on(request: web.Request, server: Endpoint) -> web.StreamResponse:
    async with _asked(request, server) as upstream:
        kept = ("Content-Type", "Content-Encoding")
        headers = {name: upstream.headers[name] for name in kept if name in upstream.headers}
        response = web.StreamResponse(status=upstream.status, headers=headers)
        await response.prepare(request)
        async for chunk in upstream.content.iter_any():
            await response.write(chunk)
        await response.write_eof()
        return response
