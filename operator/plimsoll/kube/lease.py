"""Leader election through a Lease on the API server.

Only the holder writes, and each write checks `Leadership.is_leader` right before it is sent. That
turns false by time alone, before another replica may take the lease over, so a replica that is cut
off, slow or was suspended stops writing without being told. A write sent a moment before may still
arrive; the resourceVersions that our writes carry guard against that.

Clocks are not compared between machines: a lease counts as expired once this replica has not seen
it change for the lease's duration.
"""

import asyncio
import math
import random
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

import msgspec

from plimsoll.errors import ApiError, Conflict, NotFound
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import LEASES
from plimsoll.kube.objects.objects import Lease, LeaseSpec, ObjectMeta
from plimsoll.kube.objects.times import micro_time
from plimsoll.vocabulary import logs, metrics
from plimsoll.vocabulary.reasons import Reason

ARRIVED_SECONDS = 0.1
"""How long to collect responses that arrived while the event loop was held up."""
_log = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """The duration of a lease, and how it is renewed.

    A holder that has not renewed within `renew_deadline_seconds` stops acting; others may take the
    lease after `duration_seconds`. The gap allows for requests in flight and for clocks that run at
    different speeds. Each look or renewal is abandoned after `request_seconds`, so that one hanging
    connection does not cost the lease.

    A dead leader is succeeded after at most `duration_seconds` and two looks, 11 s here. A failed
    renewal only costs a pause in acting, so these times are shorter than where it ends the process.
    """

    duration_seconds: int = 9
    renew_deadline_seconds: float = 6.0
    retry_seconds: float = 1.0
    request_seconds: float = 2.0

    def __post_init__(self) -> None:
        if not self.retry_seconds < self.renew_deadline_seconds < self.duration_seconds:
            raise ValueError("a lease needs retry < renew deadline < duration")


@dataclass(frozen=True, slots=True)
class Sighting:
    """A lease as seen, and when it was first seen like that, on this machine's clock."""

    lease: Lease
    since: float

    def next(self, lease: Lease, now: float) -> "Sighting":
        """The sighting after looking again: its age restarts only if the lease changed."""
        same = lease.metadata.resource_version == self.lease.metadata.resource_version
        return self if same else Sighting(lease, now)


def may_take(sighting: Sighting, identity: str, now: float) -> bool:
    """Whether `identity` may write itself into the lease: it is its own, free or expired."""
    spec = sighting.lease.spec
    if not spec.holder_identity or spec.holder_identity == identity:
        return True
    return now >= sighting.since + (spec.lease_duration_seconds or 0)


def taken(lease: Lease, identity: str, *, terms: LeaseTerms, wall_time: datetime) -> Lease:
    """The lease as `identity` writes it to take or to keep it."""
    old = lease.spec
    keeps = old.holder_identity == identity
    return msgspec.structs.replace(
        lease,
        spec=LeaseSpec(
            holder_identity=identity,
            lease_duration_seconds=terms.duration_seconds,
            acquire_time=old.acquire_time if keeps else wall_time,
            renew_time=wall_time,
            lease_transitions=(old.lease_transitions or 0) + (0 if keeps else 1),
        ),
    )


def freed(lease: Lease) -> Lease:
    """The lease as its holder writes it to give it up: nobody's, and expired after a second."""
    spec = msgspec.structs.replace(lease.spec, holder_identity=None, lease_duration_seconds=1)
    return msgspec.structs.replace(lease, spec=spec)


class Leadership:
    """One replica's part in leader election through the Lease `namespace`/`name`.

    `identity` must be unique to this process, such as the pod's name and a random part. `client`
    must be one without a fence; a separate one keeps renewals out of the queue of other writes.
    """

    def __init__(  # noqa: PLR0913 - one lease, named in full, and a clock for tests
        self,
        client: KubeClient,
        *,
        namespace: str,
        name: str,
        identity: str,
        terms: LeaseTerms | None = None,
        changed: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._collection = LEASES.within(namespace)
        self._path = LEASES.named(name, namespace)
        self._fresh = Lease(metadata=ObjectMeta(name=name, namespace=namespace))
        self._identity = identity
        self._terms = terms or LeaseTerms()
        self._changed = changed
        self._clock = clock
        self._held_until = -math.inf
        self._alone_since: float | None = None
        self._seen: Sighting | None = None
        self._led = False

    def is_leader(self) -> bool:
        """Whether this replica may write now."""
        return self._clock() < self._held_until

    @property
    def alone_since(self) -> float | None:
        """Since when, by the clock, no other replica may write; None: this replica does not lead.

        Anything read before that may lack the predecessor's writes.
        """
        return self._alone_since if self.is_leader() else None

    async def run(self) -> NoReturn:
        """Take the lease when it is available and keep it, until cancelled."""
        while True:
            await self.attend()
            await asyncio.sleep(self._terms.retry_seconds * random.uniform(0.9, 1.1))  # noqa: S311

    async def attend(self) -> None:
        """Look at the lease once, and take or renew it if appropriate."""
        try:
            await _within(self._attend(), self._terms.request_seconds)
        except (ApiError, TimeoutError) as error:
            cause = str(error) or "no answer in time"
            _log.warning("lease not renewed", identity=self._identity, error=cause)
        self._note_change()

    async def release(self) -> None:
        """Give the lease up, so that another replica need not wait. Stop acting first."""
        was_leader, self._held_until = self.is_leader(), -math.inf
        self._alone_since = None
        self._note_change()
        if not was_leader or self._seen is None:
            return
        try:
            await self._give_up(self._seen.lease)
        except ApiError as error:
            _log.warning("lease not released", identity=self._identity, error=str(error))

    async def _give_up(self, lease: Lease) -> None:
        try:
            await self._client.replace(self._path, _document(freed(lease)), Lease)
        except Conflict:
            # A renewal was cancelled on its way, and has arrived; or somebody else has the lease.
            now = await self._client.get(self._path, Lease)
            if now.spec.holder_identity == self._identity:
                await self._client.replace(self._path, _document(freed(now)), Lease)

    async def _attend(self) -> None:
        if not self.is_leader():
            await self._look()
        begun = self._clock()
        if self._seen is None or not may_take(self._seen, self._identity, begun):
            return
        try:
            await self._take(self._seen, begun)
        except Conflict:
            # Somebody was faster or removed it, or the response to our own write got lost: look.
            await self._look()
            if self._seen.lease.spec.holder_identity == self._identity:
                await self._take(self._seen, begun)

    async def _look(self) -> None:
        try:
            lease = await self._client.get(self._path, Lease)
        except NotFound:
            lease = self._fresh
        now = self._clock()
        self._seen = Sighting(lease, now) if self._seen is None else self._seen.next(lease, now)
        if lease.spec.holder_identity != self._identity:
            self._held_until, self._alone_since = -math.inf, None

    async def _take(self, seen: Sighting, begun: float) -> None:
        lease = seen.lease
        wanted = _document(
            taken(lease, self._identity, terms=self._terms, wall_time=datetime.now(UTC))
        )
        if lease.metadata.resource_version:
            held = await self._client.replace(self._path, wanted, Lease)
        else:
            held = await self._client.create(self._collection, wanted, Lease)
        if self._alone_since is None:
            self._alone_since = begun if lease.spec.holder_identity else seen.since
        # Counted from before the request, and so from before anyone else can have seen it.
        self._held_until = begun + self._terms.renew_deadline_seconds
        self._seen = Sighting(held, begun)

    def _note_change(self) -> None:
        leads = self.is_leader()
        metrics.LEADER.set(leads)
        if leads == self._led:
            return
        self._led = leads
        reason = Reason.LEADING if leads else Reason.NOT_LEADER
        _log.info("leadership changed", identity=self._identity, reason=reason)
        self._changed()


async def _within(work: Coroutine[Any, Any, None], seconds: float) -> None:
    """Wait that long for work; raises TimeoutError.

    A long turn may have held up the event loop, so that the time is over before anything could
    check for the response: what has arrived by then counts.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        await asyncio.wait({task}, timeout=ARRIVED_SECONDS)
        if not task.done():
            raise TimeoutError
        await task
    finally:
        task.cancel()


def _document(lease: Lease) -> dict[str, object]:
    spec = lease.spec
    return {
        "apiVersion": LEASES.api_version,
        "kind": "Lease",
        "metadata": lease.metadata,
        "spec": {
            "holderIdentity": spec.holder_identity,
            "leaseDurationSeconds": spec.lease_duration_seconds,
            "acquireTime": _shown(spec.acquire_time),
            "renewTime": _shown(spec.renew_time),
            "leaseTransitions": spec.lease_transitions,
        },
    }


def _shown(time: datetime | None) -> str | None:
    return None if time is None else micro_time(time)
