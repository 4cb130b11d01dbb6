"""A kind whose definition comes and goes is followed while it is served, and empty otherwise."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.objects import KubeObject, ObjectMeta
from plimsoll.kube.watching.following import WatchTerms
from plimsoll.kube.watching.served_watch import ServedWatch
from plimsoll.kube.watching.watch import ListWatch
from support.programs.asynchronous import asynchronous, until
from support.servers.coming_and_going import (
    GROUP,
    PLURAL,
    VERSION,
    ComingAndGoing,
    coming_and_going,
)

RESOURCE = Resource(GROUP, VERSION, PLURAL)
QUICK = WatchTerms(first_retry_seconds=0.02, longest_retry_seconds=0.05)
LOOK_SECONDS = 0.02


@dataclass
class World:
    """An API server, the watch on its kind, and how often that reported a change."""

    kinds: ComingAndGoing
    watch: ServedWatch[KubeObject]
    changes: list[int] = field(default_factory=list[int])

    def names(self) -> list[str]:
        return [key.name for key in self.watch.objects]

    async def looked(self) -> None:
        """Return once the watch has heard what is served now: one answer may be under way."""
        before = self.kinds.looks
        await until(lambda: self.kinds.looks >= before + 3)

    def staleness(self) -> float:
        return self.watch.staleness_seconds(time.monotonic())


@asynccontextmanager
async def watching(
    *plurals: str, error: int = 0, look_seconds: float = LOOK_SECONDS
) -> AsyncGenerator[World]:
    """A world whose API server serves these kinds, and whose watch runs."""
    changes: list[int] = []

    def changed() -> None:
        changes.append(len(changes))

    async with coming_and_going() as kinds, KubeClient.to(kinds.server) as client:
        kinds.plurals, kinds.error, kinds.names = plurals, error, ("one", "two")

        def make() -> ListWatch[KubeObject]:
            return ListWatch(client, RESOURCE, KubeObject, changed=changed, terms=QUICK)

        watch = ServedWatch(client, RESOURCE, make, changed=changed, look_seconds=look_seconds)
        running = asyncio.create_task(watch.run())
        try:
            yield World(kinds, watch, changes)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


@pytest.mark.parametrize("others", [(), ("others", f"{PLURAL}/status")])
def test_a_kind_that_is_not_served_is_empty_and_not_stale(others: tuple[str, ...]) -> None:
    @asynchronous
    async def it_is() -> None:
        async with watching(*others) as world:
            await world.watch.wait_synced()
            assert world.watch.synced
            assert (world.names(), world.staleness(), world.changes) == ([], 0.0, [])
            assert world.watch.is_from(time.monotonic())
            world.watch.applied(KubeObject(metadata=ObjectMeta(name="ours")))
            assert world.names() == []

    it_is()


@asynchronous
async def test_a_kind_that_is_served_is_followed() -> None:
    async with watching(PLURAL) as world:
        await world.watch.wait_synced()
        assert world.watch.synced
        assert world.names() == ["one", "two"]
        assert world.changes
        meta = ObjectMeta(name="ours", namespace="team", uid="u", resource_version="2")
        world.watch.applied(KubeObject(metadata=meta))
        assert world.names() == ["one", "two", "ours"]


@asynchronous
async def test_nothing_is_known_before_it_is_known_whether_the_kind_is_served() -> None:
    async with watching(error=503) as world:
        await world.looked()
        assert not world.watch.synced
        world.kinds.error = 0
        await world.watch.wait_synced()
        assert world.names() == []


@asynchronous
async def test_what_is_not_known_yet_is_asked_again_soon() -> None:
    async with watching(PLURAL, error=503, look_seconds=3600) as world:
        await until(lambda: world.kinds.looks)
        world.kinds.error = 0
        await world.watch.wait_synced()
        assert world.names() == ["one", "two"]


@asynchronous
async def test_a_kind_of_which_nothing_may_be_known_is_off() -> None:
    async with watching(PLURAL, error=403) as world:
        await world.watch.wait_synced()
        assert (world.names(), world.watch.synced) == ([], True)


@asynchronous
async def test_it_is_not_synced_before_what_is_served_has_been_listed() -> None:
    async with watching(PLURAL) as world:
        world.kinds.lists = False
        await world.looked()
        assert not world.watch.synced
        world.kinds.lists = True
        await world.watch.wait_synced()
        assert world.names() == ["one", "two"]


@asynchronous
async def test_a_kind_that_comes_is_followed_from_then_on() -> None:
    async with watching() as world:
        await world.watch.wait_synced()
        world.kinds.plurals = (PLURAL,)
        await until(lambda: world.names() == ["one", "two"])
        assert world.changes


@asynchronous
async def test_a_kind_that_goes_leaves_nothing_and_that_is_said() -> None:
    async with watching(PLURAL) as world:
        await until(world.names)
        before = len(world.changes)
        world.kinds.plurals = ()
        await until(lambda: not world.names())
        assert len(world.changes) == before + 1
        assert world.watch.synced
        assert world.staleness() == 0.0
        await world.looked()
        assert len(world.changes) == before + 1, "it is said once"


@asynchronous
async def test_a_kind_that_comes_back_is_listed_anew() -> None:
    async with watching(PLURAL) as world:
        await until(world.names)
        world.kinds.plurals, world.kinds.names = (), ("three",)
        await until(lambda: not world.names())
        world.kinds.plurals = (PLURAL,)
        await until(lambda: world.names() == ["three"])


@pytest.mark.slow
@pytest.mark.parametrize("error", [401, 403, 500, 503])
def test_an_api_server_that_cannot_say_leaves_things_as_they_are(error: int) -> None:
    @asynchronous
    async def it_does() -> None:
        async with watching(PLURAL) as world:
            await until(world.names)
            world.kinds.error = error
            await world.looked()
            assert world.names() == ["one", "two"]
            assert world.watch.synced
        async with watching() as world:
            await world.watch.wait_synced()
            world.kinds.plurals, world.kinds.error = (PLURAL,), error
            await world.looked()
            assert (world.names(), world.watch.synced) == ([], True)

    it_does()


@asynchronous
async def test_waiting_ends_if_a_kind_goes_before_it_has_been_listed() -> None:
    async with watching(PLURAL) as world:
        world.kinds.lists = False
        waiting = asyncio.create_task(world.watch.wait_synced())
        await world.looked()
        assert not waiting.done()
        world.kinds.plurals = ()
        await until(waiting.done)
        assert world.watch.synced
