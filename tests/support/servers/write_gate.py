"""A gate before the API server that lets some writes through and holds back all that follow.

What is behind it can then be killed, and just so much was written by it; what the server refuses
does not count. It can also spoil each write once, before it is carried out or after. Leases are
always let through: who leads is not the question here.
"""

import json
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from enum import Enum, auto
from pathlib import Path

import aiohttp
from aiohttp import web

from plimsoll.kube.http.credentials import Endpoint, endpoint
from plimsoll_devcluster.proxies.fault_kinds import Fault, changes_something, refusal
from plimsoll_devcluster.proxies.passing_on import (
    address_of,
    answer_like,
    in_a_thread,
    kubeconfig_to,
    never,
    passed_on,
    passing_session,
    served,
)


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
    with in_a_thread(_running(gate, endpoint(kubeconfig))) as address:
        yield gate, kubeconfig_to(address, kubeconfig, folder)


@asynccontextmanager
async def _running(gate: WriteGate, server: Endpoint) -> AsyncGenerator[str]:
    async def handle(request: web.Request) -> web.StreamResponse:
        if not changes_something(request):
            return await _passed_through(request, session, server)
        write = await _named(request)
        spoil = gate.spoils(write)
        if spoil is Spoil.NOT_CARRIED_OUT:
            return refusal(Fault.FAILED)
        if not gate.enter(write):
            await never()
        # One whose client is killed before the answer may have been carried out: it counts.
        done = True
        try:
            async with passed_on(request, session, server) as upstream:
                body, done = await upstream.read(), upstream.ok
        finally:
            gate.leave(done=done)
        if spoil is Spoil.ANSWER_LOST:
            return refusal(Fault.FAILED)
        response = answer_like(upstream)
        await response.prepare(request)
        await response.write_eof(body)
        return response

    async with passing_session() as session, served(handle) as runner:
        yield address_of(runner)


async def _named(request: web.Request) -> str:
    """A write by what it does to which object."""
    if request.method == "POST":
        name = json.loads(await request.read())["metadata"]["name"]
        return f"POST {request.path}/{name}"
    return f"{request.method} {request.path}"


async def _passed_through(
    request: web.Request, session: aiohttp.ClientSession, server: Endpoint
) -> web.StreamResponse:
    async with passed_on(request, session, server) as upstream:
        response = answer_like(upstream)
        await response.prepare(request)
        async for chunk in upstream.content.iter_any():
            await response.write(chunk)
        await response.write_eof()
        return response
