import asyncio
import math
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest
from prometheus_client import REGISTRY

from plimsoll.kube.http.client import KubeClient, Selection
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.watching.following import WatchTerms
from plimsoll.kube.watching.watch import ListWatch
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.proxies.faulty_proxy import FaultyProxy
from support.objects.config_maps import CONFIG_MAPS, ConfigMap
from support.programs.asynchronous import asynchronous, until

QUICK = WatchTerms(
    watch_seconds=1, grace_seconds=0.5, first_retry_seconds=0.05, longest_retry_seconds=0.2
)


@dataclass
class World:
    """A client of the tests', a watch on what it labels, and how often that reported a change."""

    client: KubeClient
    namespace: str
    watch: ListWatch[ConfigMap]
    changes: list[float] = field(default_factory=list[float])

    async def create(self, name: str, **data: str) -> ConfigMap:
        meta = {"name": name, "labels": {"test": self.namespace}}
        body = {"metadata": meta, "data": data}
        return await self.client.create(CONFIG_MAPS.within(self.namespace), body, ConfigMap)

    async def change(self, name: str, **data: str) -> ConfigMap:
        path = CONFIG_MAPS.named(name, self.namespace)
        return await self.client.merge_patch(path, {"data": data}, ConfigMap)

    async def delete(self, name: str) -> None:
        await self.client.delete(CONFIG_MAPS.named(name, self.namespace), ConfigMap)

    def seen(self) -> dict[str, dict[str, str]]:
        return {key.name: item.data for key, item in self.watch.objects.items()}

    def staleness(self) -> float:
        return self.watch.staleness_seconds(time.monotonic())


@asynccontextmanager
async def watching(
    server: Endpoint,
    namespace: str,
    *,
    through: Endpoint | None = None,
    terms: WatchTerms = QUICK,
    keep: Callable[[ConfigMap], ConfigMap | None] = lambda item: item,
) -> AsyncGenerator[World]:
    """A world whose watch runs, through a proxy if one is named."""
    changes: list[float] = []
    async with KubeClient.to(server) as client, KubeClient.to(through or server) as watcher:
        watch = ListWatch(
            watcher,
            CONFIG_MAPS,
            ConfigMap,
            selection=Selection(labels=f"test={namespace}"),
            keep=keep,
            changed=lambda: changes.append(time.monotonic()),
            terms=terms,
        )
        running = asyncio.create_task(watch.run())
        try:
            yield World(client, namespace, watch, changes)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


def lists_made() -> float:
    found = REGISTRY.get_sample_value("plimsoll_watch_relists_total", {"resource": "configmaps"})
    return found or 0.0


@asynchronous
async def test_what_happens_is_seen(server: Endpoint, namespace: str) -> None:
    async with watching(server, namespace) as world:
        await world.create("early")
        await world.watch.wait_synced()
        unselected = {"metadata": {"name": "other"}}
        await world.client.create(CONFIG_MAPS.within(namespace), unselected, ConfigMap)
        await world.create("late", a="1")
        await until(lambda: world.seen() == {"early": {}, "late": {"a": "1"}})
        await world.change("late", a="2")
        await until(lambda: world.seen() == {"early": {}, "late": {"a": "2"}})
        await world.delete("early")
        await until(lambda: world.seen() == {"late": {"a": "2"}})
        assert world.changes
        found = world.watch.get("late", namespace)
        assert found is not None
        assert found.data == {"a": "2"}


@asynchronous
async def test_nothing_is_known_before_the_first_list(server: Endpoint, namespace: str) -> None:
    proxy = FaultyProxy(server)
    proxy.fall_silent()
    async with (
        proxy.running() as endpoint,
        watching(server, namespace, through=endpoint) as world,
    ):
        await until(lambda: proxy.requests)
        assert not world.watch.synced
        assert world.staleness() == math.inf
        proxy.speak()
        await world.watch.wait_synced()
        assert world.staleness() < 60


@asynchronous
async def test_what_is_not_kept_is_not_there(server: Endpoint, namespace: str) -> None:
    def unless_over(item: ConfigMap) -> ConfigMap | None:
        return None if "over" in item.data else item

    async with watching(server, namespace, keep=unless_over) as world:
        await world.create("one", over="yes")
        await world.create("two")
        await until(lambda: world.seen() == {"two": {}})
        await world.change("two", over="yes")
        await until(lambda: world.seen() == {})


@asynchronous
async def test_a_write_of_ours_is_seen_at_once(server: Endpoint, namespace: str) -> None:
    proxy = FaultyProxy(server)
    async with (
        proxy.running() as endpoint,
        watching(server, namespace, through=endpoint) as world,
    ):
        await world.watch.wait_synced()
        proxy.fall_silent()
        before = len(world.changes)
        world.watch.applied(await world.create("ours"))
        assert world.seen() == {"ours": {}}
        assert len(world.changes) == before + 1
        proxy.speak()
        await world.delete("ours")
        await until(lambda: world.seen() == {})


@asynchronous
async def test_a_quiet_watch_proves_again_and_again_that_it_is_current(
    server: Endpoint, namespace: str
) -> None:
    async with watching(server, namespace) as world:
        await world.watch.wait_synced()
        proofs, last = 0, math.inf
        end = time.monotonic() + 6
        while time.monotonic() < end:
            now = world.staleness()
            assert now < 3
            proofs += now < last
            last = now
            await asyncio.sleep(0.02)
        assert proofs >= 3
        assert len(world.changes) == 1, "the list, and nothing after it"


@asynchronous
async def test_any_news_prove_that_the_watch_is_current(server: Endpoint, namespace: str) -> None:
    async with watching(server, namespace, terms=WatchTerms()) as world:
        await world.watch.wait_synced()
        await until(lambda: world.staleness() > 1)
        await world.create("news")
        await until(lambda: "news" in world.seen())
        assert world.staleness() < 1


@asynchronous
async def test_a_quiet_watch_goes_on_from_a_young_version(server: Endpoint, namespace: str) -> None:
    def versions() -> list[str]:
        parts = (part for each in proxy.requests if "watch" in each for part in each.split("&"))
        return [part for part in parts if part.startswith("resourceVersion")]

    # The server sends a bookmark 2 s before the end, so shorter watches get none.
    proxy, terms = FaultyProxy(server), WatchTerms(watch_seconds=3)
    async with (
        proxy.running() as endpoint,
        watching(server, namespace, through=endpoint, terms=terms) as world,
    ):
        await until(lambda: proxy.watches)
        for name in ("one", "two"):
            unselected = {"metadata": {"name": name}}
            await world.client.create(CONFIG_MAPS.within(namespace), unselected, ConfigMap)
        await until(lambda: len(versions()) == 2)
        assert versions()[0] != versions()[1]


@pytest.mark.slow
@asynchronous
async def test_a_version_that_is_forgotten_leads_to_a_new_list(
    control_plane: Cluster, server: Endpoint, namespace: str
) -> None:
    # An API server that has just started knows no version before its start.
    await asyncio.to_thread(control_plane.restart_api_server)
    proxy = FaultyProxy(server)
    async with (
        proxy.running() as endpoint,
        watching(server, namespace, through=endpoint, terms=WatchTerms()) as world,
    ):
        await world.create("lost")
        await until(lambda: proxy.watches and "lost" in world.seen())
        before = lists_made()
        proxy.rewritten_version = "1"
        proxy.fall_silent()
        await world.delete("lost")
        await world.create("new")
        proxy.cut()
        proxy.speak()
        await until(lambda: world.seen() == {"new": {}})
        assert lists_made() == before + 1


@asynchronous
async def test_a_broken_connection_is_made_again_where_it_broke(
    server: Endpoint, namespace: str
) -> None:
    proxy = FaultyProxy(server)
    async with (
        proxy.running() as endpoint,
        watching(server, namespace, through=endpoint, terms=WatchTerms()) as world,
    ):
        await until(lambda: proxy.watches)
        before = lists_made()
        proxy.cut()
        await world.create("meanwhile")
        await until(lambda: "meanwhile" in world.seen())
        assert lists_made() == before


@asynchronous
async def test_a_connection_that_has_died_in_silence_is_given_up(
    server: Endpoint, namespace: str
) -> None:
    proxy = FaultyProxy(server)
    async with (
        proxy.running() as endpoint,
        watching(server, namespace, through=endpoint) as world,
    ):
        await world.watch.wait_synced()
        await until(lambda: proxy.watches)
        proxy.fall_silent()
        asked = len(proxy.requests)
        await world.create("unheard")
        await until(lambda: len(proxy.requests) > asked)
        assert world.staleness() > 1
        assert world.seen() == {}
        proxy.speak()
        await until(lambda: "unheard" in world.seen())
        await until(lambda: world.staleness() < 1)


@pytest.mark.slow
@asynchronous
async def test_a_restart_of_the_api_server_is_survived(
    control_plane: Cluster, server: Endpoint, namespace: str
) -> None:
    async with watching(server, namespace) as world:
        await world.create("before")
        await until(lambda: "before" in world.seen())
        await asyncio.to_thread(control_plane.restart_api_server)
        await world.create("after")
        await until(lambda: world.seen().keys() == {"before", "after"})
        await until(lambda: world.staleness() < 2)


@pytest.mark.slow
@asynchronous
async def test_five_thousand_objects_are_listed_and_followed(
    server: Endpoint, namespace: str
) -> None:
    async with watching(server, namespace) as creator:
        # Few at once: each makes a connection, and those that wait for others time out.
        for first in range(0, 5_000, 10):
            names = [f"m{number}" for number in range(first, first + 10)]
            await asyncio.gather(*(creator.create(name) for name in names))
        async with watching(server, namespace) as world:
            begun = time.process_time()
            await world.watch.wait_synced()
            assert time.process_time() - begun < 5
            assert len(world.watch.objects) == 5_000
            await world.change("m4999", a="1")
            await until(lambda: world.seen()["m4999"] == {"a": "1"})
        await until(lambda: len(creator.watch.objects) == 5_000)


@asynchronous
async def test_a_watch_that_may_be_deaf_is_made_anew_when_all_must_be_known(
    server: Endpoint, namespace: str
) -> None:
    proxy = FaultyProxy(server)
    async with (
        proxy.running() as endpoint,
        watching(server, namespace, through=endpoint, terms=WatchTerms()) as world,
    ):
        await world.watch.wait_synced()
        await until(lambda: proxy.watches == 1)
        now = time.monotonic()
        proxy.half_open()
        await world.create("unheard")
        assert not world.watch.is_from(now)
        assert world.seen() == {}
        await until(lambda: world.watch.is_from(now))
        assert world.seen() == {"unheard": {}}
        await world.change("unheard", a="1")
        await until(lambda: world.seen() == {"unheard": {"a": "1"}})


@asynchronous
async def test_a_list_that_was_begun_too_early_is_made_again(
    server: Endpoint, namespace: str
) -> None:
    proxy = FaultyProxy(server)
    proxy.fall_silent()
    async with (
        proxy.running() as endpoint,
        watching(server, namespace, through=endpoint) as world,
    ):
        await until(lambda: proxy.requests)
        now = time.monotonic()
        assert not world.watch.is_from(now)
        assert not world.watch.is_from(now)
        proxy.speak()
        await until(lambda: world.watch.is_from(now))
        lists = [asked for asked in proxy.requests if "watch" not in asked]
        assert len(lists) == 2


@asynchronous
async def test_a_list_that_comes_in_while_a_later_one_is_asked_for_is_made_again(
    server: Endpoint, namespace: str
) -> None:
    asked: list[float] = []

    def kept(item: ConfigMap) -> ConfigMap:
        if not asked:
            asked.append(time.monotonic())
            assert not world.watch.is_from(asked[0])
        return item

    async with KubeClient.to(server) as client:
        meta = {"name": "early", "labels": {"test": namespace}}
        await client.create(CONFIG_MAPS.within(namespace), {"metadata": meta}, ConfigMap)
    async with watching(server, namespace, keep=kept, terms=WatchTerms()) as world:
        await until(lambda: asked and world.watch.is_from(asked[0]))
