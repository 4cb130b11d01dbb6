import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

import pytest
from aiohttp import web

from plimsoll.errors import NotLeader
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.http.resources import LEASES
from plimsoll.kube.http.transport import Limits
from plimsoll.kube.lease import Leadership, LeaseTerms
from plimsoll.kube.objects.objects import Lease
from plimsoll_devcluster.proxies.faulty_proxy import FaultyProxy
from plimsoll_devcluster.waiting import PATIENCE
from support.objects.config_maps import CONFIG_MAPS, ConfigMap
from support.programs.asynchronous import asynchronous, until

TERMS = LeaseTerms(duration_seconds=15, renew_deadline_seconds=10, retry_seconds=2)
FAST = LeaseTerms(duration_seconds=2, renew_deadline_seconds=1, retry_seconds=0.1)


@dataclass
class Clock:
    """A monotonic clock that the tests move."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Candidate:
    """A replica with its own clock and its own way to the server."""

    leadership: Leadership
    clock: Clock
    proxy: FaultyProxy
    client: KubeClient

    @property
    def leads(self) -> bool:
        return self.leadership.is_leader()

    async def attend(self, *, after: float = 0.0) -> bool:
        self.clock.now += after
        await self.leadership.attend()
        return self.leads


@asynccontextmanager
async def a_candidate(server: Endpoint, namespace: str, identity: str) -> AsyncGenerator[Candidate]:
    proxy, clock = FaultyProxy(server), Clock()
    limits = Limits(request_seconds=3, attempts=1)
    async with proxy.running() as endpoint, KubeClient.to(endpoint, limits=limits) as client:
        leadership = Leadership(
            client, namespace=namespace, name="lead", identity=identity, terms=TERMS, clock=clock
        )
        yield Candidate(leadership, clock, proxy, client)


async def the_lease(candidate: Candidate, namespace: str) -> Lease:
    return await candidate.client.get(LEASES.named("lead", namespace), Lease)


@asynchronous
async def test_only_the_first_of_two_leads(server: Endpoint, namespace: str) -> None:
    async with (
        a_candidate(server, namespace, "a") as one,
        a_candidate(server, namespace, "b") as other,
    ):
        assert await one.attend()
        assert not await other.attend()
        lease = await the_lease(one, namespace)
        assert lease.spec.holder_identity == "a"
        assert lease.spec.lease_duration_seconds == 15
        assert lease.spec.lease_transitions == 1


@asynchronous
async def test_of_two_that_start_together_one_leads(server: Endpoint, namespace: str) -> None:
    async with (
        a_candidate(server, namespace, "a") as one,
        a_candidate(server, namespace, "b") as other,
    ):
        assert sorted(await asyncio.gather(one.attend(), other.attend())) == [False, True]


@asynchronous
async def test_a_leader_that_renews_keeps_the_lease(server: Endpoint, namespace: str) -> None:
    async with (
        a_candidate(server, namespace, "a") as one,
        a_candidate(server, namespace, "b") as other,
    ):
        for _ in range(20):
            assert await one.attend(after=2)
            assert not await other.attend(after=2)
        assert (await the_lease(one, namespace)).spec.lease_transitions == 1


@asynchronous
async def test_a_leader_that_is_cut_off_stops_before_another_may_start(
    server: Endpoint, namespace: str
) -> None:
    async with (
        a_candidate(server, namespace, "a") as one,
        a_candidate(server, namespace, "b") as other,
    ):
        await one.attend()
        await other.attend()
        one.proxy.answers = [web.Response(status=500) for _ in range(2)]
        assert await one.attend(after=9)
        assert not await other.attend(after=9)
        assert not await one.attend(after=1)
        assert not await other.attend(after=1)
        assert await other.attend(after=5)
        assert not one.leads
        assert not await one.attend(after=5)
        assert (await the_lease(other, namespace)).spec.lease_transitions == 2


@asynchronous
async def test_a_leader_that_was_stopped_knows_by_its_clock(
    server: Endpoint, namespace: str
) -> None:
    async with a_candidate(server, namespace, "a") as one:
        await one.attend()
        one.clock.now += 9.9
        assert one.leads
        one.clock.now += 0.1
        assert not one.leads
        assert await one.attend()


@asynchronous
async def test_a_lease_that_was_stolen_is_given_up_at_once(
    server: Endpoint, namespace: str
) -> None:
    async with a_candidate(server, namespace, "a") as one:
        await one.attend()
        theft = {"spec": {"holderIdentity": "thief"}}
        await one.client.merge_patch(LEASES.named("lead", namespace), theft, Lease)
        assert not await one.attend(after=2)
        assert not await one.attend(after=14.9)
        assert await one.attend(after=0.1)


@asynchronous
async def test_a_lease_that_was_deleted_is_given_up_and_asked_for_anew(
    server: Endpoint, namespace: str
) -> None:
    async with a_candidate(server, namespace, "a") as one:
        await one.attend()
        await one.client.delete(LEASES.named("lead", namespace), Lease)
        assert not await one.attend(after=2)
        assert await one.attend(after=2)


@asynchronous
async def test_a_renewal_whose_answer_is_lost_does_not_lose_the_lease(
    server: Endpoint, namespace: str
) -> None:
    async with a_candidate(server, namespace, "a") as one:
        await one.attend()
        before = (await the_lease(one, namespace)).spec.renew_time
        one.proxy.fall_silent()
        assert await one.attend(after=2)
        one.proxy.speak()
        assert (await the_lease(one, namespace)).spec.renew_time != before
        assert await one.attend(after=2)
        one.clock.now += 9
        assert one.leads


@asynchronous
async def test_a_renewal_that_hangs_is_given_up_in_time_for_another(
    server: Endpoint, namespace: str
) -> None:
    async with a_candidate(server, namespace, "a") as one:
        await one.attend()
        one.proxy.fall_silent()
        begun = time.monotonic()
        await one.attend()
        assert time.monotonic() - begun < LeaseTerms().renew_deadline_seconds - 1
        one.proxy.speak()
        assert await one.attend(after=LeaseTerms().renew_deadline_seconds - 0.5)


@asynchronous
async def test_a_lease_that_is_given_back_is_free_at_once(server: Endpoint, namespace: str) -> None:
    async with (
        a_candidate(server, namespace, "a") as one,
        a_candidate(server, namespace, "b") as other,
    ):
        await one.attend()
        await other.attend()
        await one.leadership.release()
        assert not one.leads
        assert await other.attend()


@asynchronous
async def test_a_lease_is_given_back_though_a_renewal_was_on_its_way(
    server: Endpoint, namespace: str
) -> None:
    async with (
        a_candidate(server, namespace, "a") as one,
        a_candidate(server, namespace, "b") as other,
    ):
        await one.attend()
        before = (await the_lease(other, namespace)).metadata.resource_version
        one.proxy.fall_silent()
        renewal = asyncio.create_task(one.leadership.attend())
        async with asyncio.timeout(20 * PATIENCE):
            while (await the_lease(other, namespace)).metadata.resource_version == before:
                pass
        renewal.cancel()
        with suppress(asyncio.CancelledError):
            await renewal
        one.proxy.speak()
        await one.leadership.release()
        assert await other.attend()


@asynchronous
async def test_since_when_nobody_else_writes_is_known(server: Endpoint, namespace: str) -> None:
    async with (
        a_candidate(server, namespace, "a") as one,
        a_candidate(server, namespace, "b") as other,
    ):
        one.clock.now, other.clock.now = 100.0, 200.0
        await one.attend()
        assert one.leadership.alone_since == 100, "there was no lease when it looked"
        await one.attend(after=2)
        assert one.leadership.alone_since == 100
        await other.attend()
        assert other.leadership.alone_since is None
        await other.attend(after=15)
        assert other.leadership.alone_since == 215, "the other's has expired"
        await one.attend(after=15)
        assert one.leadership.alone_since is None
        await other.leadership.release()
        assert other.leadership.alone_since is None
        await one.attend(after=3)
        assert one.leadership.alone_since == 120, "it was given back"
        one.clock.now += 9.9
        assert one.leadership.alone_since == 120
        one.clock.now += 0.1
        assert one.leadership.alone_since is None
        await one.attend()
        assert one.leadership.alone_since == 120, "nobody else had it meanwhile"


@asynchronous
async def test_one_who_never_led_gives_nothing_back(server: Endpoint, namespace: str) -> None:
    async with (
        a_candidate(server, namespace, "a") as one,
        a_candidate(server, namespace, "b") as other,
    ):
        await one.attend()
        await other.attend()
        await other.leadership.release()
        assert (await the_lease(one, namespace)).spec.holder_identity == "a"


@asynchronous
async def test_the_fence_stops_a_leader_that_does_not_know_yet(
    server: Endpoint, namespace: str
) -> None:
    async with (
        a_candidate(server, namespace, "a") as one,
        KubeClient.to(server, may_write=one.leadership.is_leader) as fenced,
    ):
        maps = CONFIG_MAPS.within(namespace)
        with pytest.raises(NotLeader):
            await fenced.create(maps, {"metadata": {"name": "too-early"}}, ConfigMap)
        await one.attend()
        await fenced.create(maps, {"metadata": {"name": "in-time"}}, ConfigMap)
        one.clock.now += 10
        with pytest.raises(NotLeader):
            await fenced.create(maps, {"metadata": {"name": "too-late"}}, ConfigMap)
        names = {item.metadata.name for item in await fenced.list_all(maps, ConfigMap)}
        assert "in-time" in names
        assert not names & {"too-early", "too-late"}


@asynchronous
async def test_when_the_leader_goes_another_takes_over(server: Endpoint, namespace: str) -> None:
    async with KubeClient.to(server) as client:
        one, other = (
            Leadership(client, namespace=namespace, name="lead", identity=identity, terms=FAST)
            for identity in ("a", "b")
        )
        first = asyncio.create_task(one.run())
        await until(one.is_leader)
        second = asyncio.create_task(other.run())
        first.cancel()
        await until(other.is_leader)
        assert not one.is_leader()
        second.cancel()
        for task in (first, second):
            with suppress(asyncio.CancelledError):
                await task


@asynchronous
async def test_an_answer_that_came_while_a_turn_held_everything_up_counts(
    server: Endpoint, namespace: str
) -> None:
    terms, clock = replace(TERMS, request_seconds=0.5), Clock()
    async with KubeClient.to(server) as client:
        leadership = Leadership(
            client, namespace=namespace, name="lead", identity="a", terms=terms, clock=clock
        )
        await leadership.attend()
        clock.now += 5
        renewal = asyncio.create_task(leadership.attend())
        for _ in range(20):  # it is on its way then, and not answered yet
            await asyncio.sleep(0)
        time.sleep(1)  # noqa: ASYNC251 - a long turn
        await renewal
        clock.now += 6  # more than the first alone is good for
        assert leadership.is_leader()
