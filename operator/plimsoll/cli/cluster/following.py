"""Keep what a command shows current, by watches; nothing is asked again and again."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from plimsoll.cli.cluster.connection import Cluster
from plimsoll.cli.cluster.reading import (
    Found,
    Known,
    Wanted,
    absent,
    namespaces,
    path,
    restricted,
)
from plimsoll.errors import Forbidden, NotFound
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.objects.objects import KubeObject
from plimsoll.kube.watching.following import WatchTerms
from plimsoll.kube.watching.watch import ListWatch

LEAST_SECONDS = 1.0
"""Between two states that are shown."""
MOST_SECONDS = 10.0
"""After which the same state is shown again, since ages change."""
_TERMS = WatchTerms(page_size=1000)
_PROBE = {"timeoutSeconds": "1"}


@dataclass(frozen=True, slots=True)
class _Watched:
    """A kind that is watched in a namespace, or why it is not."""

    wanted: Wanted[Any]
    found: Found[Any]
    watch: ListWatch[Any] | None

    def now(self) -> Found[Any]:
        """What is there now."""
        if self.watch is None:
            return self.found
        known = self.found
        return Found(tuple(self.watch.objects.values()), known.namespace, known.missing)


async def states(cluster: Cluster, wanted: Sequence[Wanted[Any]]) -> AsyncGenerator[Known]:
    """What is there, again after each change, for ever. Raises UnusableCluster."""
    changed = asyncio.Event()
    async with cluster.client() as client:
        watched = await asyncio.gather(
            *(_watched(client, cluster, each, changed) for each in wanted)
        )
        watches = [each.watch for each in watched if each.watch is not None]
        async with _running(watches), aclosing(_turns(changed)) as turns:
            async for _ in turns:
                found: dict[type[KubeObject], Found[Any]] = {
                    each.wanted.type: each.now() for each in watched
                }
                known = Known(found, silent=_silent(watches))
                known.require_something()
                yield known


async def _watched(
    client: KubeClient, cluster: Cluster, wanted: Wanted[Any], changed: asyncio.Event
) -> _Watched:
    refused: Forbidden | None = None
    for namespace in namespaces(cluster, wanted):
        try:
            await _probe(client, wanted, namespace)
        except Forbidden as error:
            refused = refused or error
            continue
        except NotFound:
            return _Watched(wanted, absent(wanted), None)
        watch = ListWatch(
            client,
            wanted.resource,
            wanted.type,
            namespace=namespace or "",
            selection=wanted.selection,
            changed=changed.set,
            terms=_TERMS,
        )
        return _Watched(wanted, Found((), namespace, restricted(refused, namespace)), watch)
    return _Watched(wanted, Found(missing=restricted(refused, None), readable=False), None)


async def _probe(client: KubeClient, wanted: Wanted[Any], namespace: str | None) -> None:
    """Raise what the cluster answers if the kind may not be listed and watched there."""
    place = path(wanted, namespace)
    version = ""
    async for page in client.pages(place, KubeObject, selection=wanted.selection, page_size=1):
        version = page.metadata.resource_version
        break
    selection = wanted.selection.query if wanted.selection else {}
    query = {**_PROBE, "resourceVersion": version, **selection}
    async with client.watch(place, query, silence_seconds=_TERMS.longest_silence_seconds):
        return


@asynccontextmanager
async def _running(watches: Sequence[ListWatch[Any]]) -> AsyncGenerator[None]:
    tasks = [asyncio.create_task(each.run()) for each in watches]
    try:
        await asyncio.gather(*(each.wait_synced() for each in watches))
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _turns(changed: asyncio.Event) -> AsyncGenerator[None]:
    """A turn at once, and after each change; not too often, and now and then anyway."""
    while True:
        changed.clear()
        begun = time.monotonic()
        yield
        try:
            async with asyncio.timeout(MOST_SECONDS):
                await changed.wait()
        except TimeoutError:
            continue
        await asyncio.sleep(max(0.0, begun + LEAST_SECONDS - time.monotonic()))


def _silent(watches: Sequence[ListWatch[Any]]) -> str:
    """What has not been confirmed for longer than a connection can be silent."""
    now = time.monotonic()
    worst = max((each.staleness_seconds(now) for each in watches), default=0.0)
    if worst <= _TERMS.longest_silence_seconds:
        return ""
    return f"the cluster has not answered for {worst:.0f} s: what is shown may have changed"
