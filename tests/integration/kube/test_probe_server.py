import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import aiohttp

from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.probe_server import Probe, ProbeServer, Pulse, stale_watches
from plimsoll.kube.watching.watch import ListWatch
from support.objects.config_maps import CONFIG_MAPS, ConfigMap
from support.programs.asynchronous import asynchronous


def all_is_well() -> Sequence[str]:
    return []


@asynccontextmanager
async def served(*, alive: Probe = all_is_well, ready: Probe = all_is_well) -> AsyncGenerator[str]:
    server = ProbeServer(alive=alive, ready=ready, host="127.0.0.1", port=0)
    port = await server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await server.stop()


async def answer(url: str, **headers: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
        return response.status, await response.text()


@asynchronous
async def test_when_all_is_well_the_probes_say_so() -> None:
    async with served() as url:
        assert await answer(f"{url}/healthz") == (200, "ok")
        assert await answer(f"{url}/readyz") == (200, "ok")


@asynchronous
async def test_what_is_wrong_is_said_in_words() -> None:
    async with served(ready=lambda: ["pods: not listed yet", "nodes: stale"]) as url:
        assert await answer(f"{url}/readyz") == (503, "pods: not listed yet\nnodes: stale")
        assert (await answer(f"{url}/healthz"))[0] == 200


@asynchronous
async def test_metrics_are_in_prometheus_words() -> None:
    async with served() as url:
        status, text = await answer(f"{url}/metrics")
    assert status == 200
    assert "# TYPE plimsoll_pending_jobs gauge" in text
    assert "# TYPE plimsoll_admitted_jobs_total counter" in text


def test_a_loop_that_does_not_turn_is_noticed() -> None:
    now = 100.0
    pulse = Pulse(limit_seconds=60, clock=lambda: now)
    now = 160.0
    assert pulse.problems() == []
    now = 161.0
    assert pulse.problems() == ["the planning loop made its last turn 61 s ago"]
    pulse.beat()
    assert pulse.problems() == []


@asynchronous
async def test_a_view_that_is_not_there_or_not_current_is_not_ready(server: Endpoint) -> None:
    async with KubeClient.to(server) as client:
        watch = ListWatch(client, CONFIG_MAPS, ConfigMap)

        def problems(in_seconds: float = 0) -> Sequence[str]:
            return stale_watches([watch], now=time.monotonic() + in_seconds, limit_seconds=60)

        async with served(ready=problems) as url:
            assert await answer(f"{url}/readyz") == (503, "configmaps: not listed yet")
            running = asyncio.create_task(watch.run())
            await watch.wait_synced()
            assert await answer(f"{url}/readyz") == (200, "ok")
            status, text = await answer(f"{url}/metrics")
            assert status == 200
            assert 'plimsoll_watch_staleness_seconds{resource="configmaps"}' in text
        (problem,) = problems(in_seconds=100)
        assert problem.startswith("configmaps: last known to be current 100 s ago")
        running.cancel()
