"""Watch the API server with the operator's own code, and make snapshots of what is there.

A snapshot is made at most once a second, and only when something has changed; from time to time
also without a change, since some of what it says depends on the time. Nothing is ever written.
"""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NoReturn

from plimsoll.clock import SYSTEM, Clock
from plimsoll.control.cluster_watch import ClusterWatch
from plimsoll.control.known_objects import known_objects
from plimsoll.control.resource_watch import ResourceWatch
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.watching.following import WatchTerms
from plimsoll.kube.watching.target_reading import TARGET_LIMITS
from plimsoll.kube.watching.target_watch import TargetWatch
from plimsoll.kube.watching.workloads import Reference
from plimsoll.observe.custom_resources import CustomResources
from plimsoll.observe.measured.prices import NodePrices
from plimsoll.observe.observer import Objects, Observer
from plimsoll.observe.snapshot import Snapshot
from plimsoll.observe.targets.claims import references_of
from plimsoll.supervision import Part
from plimsoll_console.access.rights import Place
from plimsoll_console.settings import Settings

SHORTEST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 15.0
_CONFIRMED_SECONDS: Final = 40.0
"""A watch confirms at least every 30 s that it is current."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The cluster at one moment; `number` grows with each snapshot.

    `places` are the namespaces that have jobs, by kind. `stale_since` is set while it has not been
    confirmed to be current.
    """

    number: int
    snapshot: Snapshot
    objects: Objects
    places: frozenset[Place]
    stale_since: datetime | None = None


class Feed:
    """What is known of the cluster. `latest` is None until everything has been listed once."""

    def __init__(self, endpoint: Endpoint, settings: Settings, *, clock: Clock = SYSTEM) -> None:
        self._settings, self._clock = settings, clock
        self._changed = asyncio.Event()
        changed = self._changed.set
        terms = WatchTerms(watch_seconds=settings.watch_seconds)
        self._client = KubeClient.to(endpoint, may_write=lambda: False)
        self.resources = CustomResources(self._resources_changed)
        self._watch = ClusterWatch(
            self._client,
            terms,
            adopts_jobs=settings.adopts_jobs,
            buys_nodes=settings.buys_nodes,
            requests_in=settings.requests_in or None,
            changed=changed,
        )
        terms = replace(terms, longest_between_lists_seconds=settings.relist_seconds)
        self._resource_watch = ResourceWatch(self._client, self.resources, changed, terms)
        # A separate client, because a target may be of any kind and its API may hang indefinitely.
        self._target_client = KubeClient.to(endpoint, may_write=lambda: False, limits=TARGET_LIMITS)
        self._targets = TargetWatch(
            self._target_client, self._references, changed, seconds=settings.target_seconds
        )
        self._observer = Observer()
        self._published = asyncio.Condition()
        self.latest: Seen | None = None

    def parts(self) -> Iterator[Part]:
        """What runs from start to stop; whatever fails is restarted."""
        yield from self._watch.parts()
        yield from self._resource_watch.parts()
        yield Part("targets", self._follow_targets)
        yield Part("snapshots", self._publish)

    def current(self) -> Snapshot | None:
        """The latest snapshot; None while what it shows has not been confirmed to be current."""
        seen = self.latest
        return None if seen is None or seen.stale_since is not None else seen.snapshot

    async def close(self) -> None:
        """Close the connections."""
        for client in (self._client, self._target_client):
            await client.__aexit__(None, None, None)

    def staleness(self) -> list[str]:
        """What is not listed yet, or has not been confirmed current for too long."""
        return self._stale_after(self._settings.stale_seconds)

    async def newer(self, number: int, *, seconds: float) -> Seen | None:
        """The first snapshot after that number, or the latest after so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._published:
                await self._published.wait_for(
                    lambda: self.latest is not None and self.latest.number > number
                )
        return self.latest

    def _stale_after(self, seconds: float) -> list[str]:
        known = (self._watch, self._resource_watch)
        return [problem for each in known for problem in each.staleness(limit_seconds=seconds)]

    def _objects(self) -> Objects:
        known = known_objects(self._watch, self.resources, self._targets)
        # What the operator reads from a catalogue or from Prometheus, pools say in their status.
        return replace(known, prices=NodePrices(complete=False))

    async def _publish(self) -> NoReturn:
        await self._watch.wait_synced()
        await self._resource_watch.wait_synced()
        while True:
            self._changed.clear()
            objects, now = self._objects(), self._clock.now()
            # A large cluster takes a while, and those who look must not wait for it.
            snapshot = await asyncio.to_thread(self._observer.snapshot, objects, now)
            await self._show(snapshot, objects)
            await asyncio.sleep(SHORTEST_SECONDS)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LONGEST_SECONDS - SHORTEST_SECONDS):
                    await self._changed.wait()

    async def _show(self, snapshot: Snapshot, objects: Objects) -> None:
        before = self.latest
        since = before.stale_since or snapshot.now if before else snapshot.now
        stale = bool(self._stale_after(_CONFIRMED_SECONDS))
        async with self._published:
            number = before.number + 1 if before else 1
            self.latest = Seen(
                number, snapshot, objects, places_of(snapshot), since if stale else None
            )
            self._published.notify_all()

    def _resources_changed(self) -> None:
        self._changed.set()
        self._targets.look()

    def _references(self) -> list[Reference]:
        return references_of(self.resources.all())

    async def _follow_targets(self) -> NoReturn:
        await self._resource_watch.wait_synced()
        await self._targets.run()


def places_of(snapshot: Snapshot) -> frozenset[Place]:
    """The namespaces that have jobs, by kind of job."""
    return frozenset(
        (view.resource.kind, view.resource.metadata.namespace) for view in snapshot.jobs
    )
