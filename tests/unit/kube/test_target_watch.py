import asyncio
import time
from contextlib import suppress

from asynchronous import asynchronous
from plimsoll.kube.client import KubeClient
from plimsoll.kube.credentials import Endpoint
from plimsoll.kube.target_watch import LOOK_PAUSE_SECONDS, TargetWatch
from plimsoll.kube.workloads import Reference


@asynchronous
async def test_however_often_jobs_change_it_is_seldom_seen_which_targets_there_are() -> None:
    looks = 0

    def wanted() -> list[Reference]:
        nonlocal looks
        looks += 1
        return []

    async with KubeClient(Endpoint("http://127.0.0.1:1", None, lambda: None)) as client:
        watch = TargetWatch(client, wanted, lambda: None, seconds=60)
        running = asyncio.create_task(watch.run())
        await watch.wait_synced()
        begun = asyncio.get_running_loop().time()
        for _ in range(200):
            watch.look()
            await asyncio.sleep(0.002)
        took = asyncio.get_running_loop().time() - begun
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    assert 2 <= looks <= 2 + took / LOOK_PAUSE_SECONDS + 1


@asynchronous
async def test_where_there_are_no_targets_nothing_has_to_be_read() -> None:
    async with KubeClient(Endpoint("http://127.0.0.1:1", None, lambda: None)) as client:
        moment = time.monotonic()
        assert TargetWatch(client, list, lambda: None, seconds=60).is_from(moment)
        reference = Reference("team", "apps/v1", "Deployment", "chat")
        assert not TargetWatch(client, lambda: [reference], lambda: None, seconds=60).is_from(
            moment
        )
