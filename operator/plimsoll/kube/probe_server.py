"""The process's HTTP probes and metrics: /healthz, /readyz and /metrics.

Healthy means that the event loop and the planning loop are running: if not, a restart may help.
Ready means that the view of the cluster is complete and current, in the leader and in its standbys
alike: if not, a restart would not help, but the responses cannot be relied on.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from aiohttp import web
from prometheus_client import REGISTRY
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

Probe = Callable[[], Sequence[str]]
"""What is wrong, in words; empty when all is well."""


class Watched(Protocol):
    """Something that is listed once, and from time to time confirmed to be current."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def synced(self) -> bool:
        """Whether it has been listed once."""
        ...

    def staleness_seconds(self, now: float) -> float:
        """How long ago it was certainly current."""
        ...


class Pulse:
    """When the planning loop last took a turn."""

    def __init__(
        self, *, limit_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit_seconds = limit_seconds
        self._clock = clock
        self._last = clock()

    def beat(self) -> None:
        """Record a turn, even one with nothing to do."""
        self._last = self._clock()

    def problems(self) -> list[str]:
        """Whether the last turn is too long ago."""
        age = self._clock() - self._last
        if age <= self._limit_seconds:
            return []
        return [f"the planning loop made its last turn {age:.0f} s ago"]


def stale_watches(watches: Sequence[Watched], *, now: float, limit_seconds: float) -> list[str]:
    """The watches not listed yet, or not confirmed current for longer than the limit."""
    problems: list[str] = []
    for watch in watches:
        age = watch.staleness_seconds(now)
        if not watch.synced:
            problems.append(f"{watch.name}: not listed yet")
        elif age > limit_seconds:
            problems.append(f"{watch.name}: last known to be current {age:.0f} s ago")
    return problems


class ProbeServer:
    """The HTTP server; port 0 takes any free one."""

    def __init__(self, *, alive: Probe, ready: Probe, host: str = "", port: int = 8080) -> None:
        self._host = host or None
        self._port = port
        app = web.Application()
        add_probes(app, alive=alive, ready=ready)
        self._runner = web.AppRunner(app, access_log=None)

    async def start(self) -> int:
        """Start serving; return the port."""
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Stop serving."""
        await self._runner.cleanup()


def add_probes(
    app: web.Application, *, alive: Probe, ready: Probe, metrics: Collector = REGISTRY
) -> None:
    """Have a server answer the probes, and show metrics."""
    app.router.add_get("/metrics", _shown(metrics))
    app.router.add_get("/healthz", _handler(alive))
    app.router.add_get("/readyz", _handler(ready))


def _handler(probe: Probe) -> Callable[[web.Request], Any]:
    async def respond(_request: web.Request) -> web.Response:
        problems = probe()
        return web.Response(text="\n".join(problems) or "ok", status=503 if problems else 200)

    return respond


def _shown(metrics: Collector) -> Callable[[web.Request], Any]:
    async def respond(request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(metrics), headers={"Content-Type": content_type})

    return respond
