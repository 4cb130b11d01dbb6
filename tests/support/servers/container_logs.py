"""A server in the place of an API server and its kubelets, which has the logs of containers.

No kubelet runs beside the control plane of the tests.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import Endpoint
from plimsoll_devcluster.proxies.passing_on import address_of, served


@dataclass(slots=True)
class PodLog:
    """The log of a pod's container: the time and text of each line, and whether it has ended.

    A connection breaks after `breaks_after` lines, once. `lost`: the container was removed while it
    was asked for, of which the kubelet tells one reader in the place of lines.
    """

    lines: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    ended: bool = False
    breaks_after: int | None = None
    refusal: int | None = None
    lost: bool = False


class LogServer:
    """The logs by pod; what is asked for is kept, and how many connections there were at once."""

    def __init__(self) -> None:
        self.logs: dict[str, PodLog] = {}
        self.uids: dict[str, str] = {}
        self.read: Counter[str] = Counter()
        """How often each pod itself was read."""
        self.asked: list[dict[str, str]] = []
        self.open: Counter[str] = Counter()
        self.most_open = 0
        self._grown = asyncio.Event()

    def write(self, pod: str, *texts: str) -> None:
        """Add lines to the log of a pod, each a nanosecond after the one before."""
        log = self.logs.setdefault(pod, PodLog())
        for text in texts:
            log.lines.append((f"2026-11-27T10:00:00.{len(log.lines):09}Z", text))
        self._grown.set()

    def end(self, pod: str) -> None:
        """End the run of a pod's container."""
        self.logs[pod].ended = True
        self._grown.set()

    def lose(self, pod: str) -> None:
        """Remove the container under the eyes of whoever reads its log."""
        self.logs[pod].lost = True
        self._grown.set()

    def replace(self, pod: str, uid: str) -> None:
        """End a pod's log, and give its name to another pod with a log of its own."""
        before, self.logs[pod], self.uids[pod] = self.logs[pod], PodLog(), uid
        before.ended = True
        self._grown.set()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """The pod in the path, or its log as an API server streams it."""
        *_, pod, last = request.path.split("/")
        if last != "log":
            self.read[last] += 1
            metadata = {"name": last, "uid": self.uids.get(last, f"uid-of-{last}")}
            return web.json_response({"metadata": metadata})
        self.asked.append({"pod": pod, **request.query})
        log = self.logs[pod]
        if log.refusal is not None:
            return web.json_response(
                {"message": "is refused", "code": log.refusal}, status=log.refusal
            )
        response = web.StreamResponse()
        response.content_type = "text/plain"
        await response.prepare(request)
        self.open[pod] += 1
        self.most_open = max(self.most_open, sum(self.open.values()))
        try:
            await self._stream(log, request, response)
        finally:
            self.open[pod] -= 1
        return response

    async def _stream(
        self, log: PodLog, request: web.Request, response: web.StreamResponse
    ) -> None:
        # Of whole seconds, as the true one takes them.
        since, sent = request.query.get("sinceTime", "")[:19], 0
        while True:
            self._grown.clear()
            for time, text in log.lines[sent:]:
                sent += 1
                if time[:19] >= since:
                    await response.write(f"{time} {text}\n".encode())
                if sent == log.breaks_after:
                    log.breaks_after = None
                    assert request.transport is not None
                    request.transport.abort()
                    return
            if log.lost:
                log.lost = False
                await response.write(b"unable to retrieve container logs for containerd://20d1c7d5")
                return
            if log.ended or "follow" not in request.query:
                return
            await self._grown.wait()


@asynccontextmanager
async def log_server() -> AsyncGenerator[tuple[LogServer, KubeClient]]:
    """The server, and a client of it."""
    server = LogServer()
    async with served(server.answer) as runner:
        endpoint = Endpoint(address_of(runner), None, lambda: None)
        async with KubeClient.to(endpoint, may_write=lambda: False) as client:
            yield server, client
