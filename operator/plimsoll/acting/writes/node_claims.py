"""Order nodes and give them back, by Karpenter's NodeClaims."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn, Protocol

from plimsoll.acting.nodes.node_claims import node_claim
from plimsoll.api.definition import API_VERSION
from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.parts.node_claim_template import NodeClaimTemplate
from plimsoll.errors import AlreadyExists, ApiError, NotFound, PlimsollError
from plimsoll.kube.events import EventRecorder, Saying, Subject
from plimsoll.kube.http.client import Deletion, KubeClient
from plimsoll.kube.http.resources import NODE_CLAIMS
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.planning.provisioning.idle_nodes import GiveBack
from plimsoll.supervision import count_unforeseen
from plimsoll.vocabulary import logs, metrics
from plimsoll.vocabulary.reasons import Reason

_log = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class Buy:
    """Order a node of a pool under a name that is free."""

    pool: GPUPool
    template: NodeClaimTemplate
    name: str


class NodeClaimListener(Protocol):
    """Receives what was written, and what was not."""

    def wrote_node_claim(self, claim: NodeClaim) -> None:
        """A node was ordered, or is being given back."""
        ...

    def order_failed(self, pool: GPUPool, name: str) -> None:
        """A node could not be ordered under this name."""
        ...

    def name_taken(self, name: str) -> None:
        """An order of that name exists, which may be of others."""
        ...


class NodeClaimWriter:
    """Writes while `run` runs, one after another; what fails is decided anew."""

    def __init__(
        self, client: KubeClient, events: EventRecorder, listener: NodeClaimListener
    ) -> None:
        self._client, self._events, self._listener = client, events, listener
        self._queue: asyncio.Queue[Buy | GiveBack] = asyncio.Queue()
        self._under_way: set[str] = set()

    @property
    def under_way(self) -> frozenset[str]:
        """The names of what was submitted and is still to be written."""
        return frozenset(self._under_way)

    def submit(self, changes: Iterable[Buy | GiveBack]) -> None:
        """Queue changes, except for what is being written."""
        for change in changes:
            if _name(change) not in self._under_way:
                self._under_way.add(_name(change))
                self._queue.put_nowait(change)

    async def run(self) -> NoReturn:
        """Write until cancelled."""
        while True:
            change = await self._queue.get()
            try:
                await self._write(change)
            except PlimsollError as error:
                self._failed(change, error)
            except Exception as error:  # noqa: BLE001 - around one node
                count_unforeseen("node claim", error, node_claim=_name(change))
            finally:
                self._under_way.discard(_name(change))

    async def _write(self, change: Buy | GiveBack) -> None:
        if isinstance(change, Buy):
            body = node_claim(change.pool, change.template, change.name)
            made = await self._client.create(NODE_CLAIMS.everywhere(), body, NodeClaim)
            self._listener.wrote_node_claim(made)
            metrics.NODES_ORDERED.labels(change.pool.metadata.name).inc()
            self.say(change.pool, Reason.NODE_ORDERED, f"NodeClaim {change.name}")
            return
        order = change.order
        path = NODE_CLAIMS.named(order.name)
        try:
            gone = await self._client.delete(path, NodeClaim, Deletion(uid=order.uid))
        except NotFound:
            return
        if gone is not None:
            self._listener.wrote_node_claim(gone)
        metrics.NODES_GIVEN_BACK.labels(order.pool).inc()
        text = f"NodeClaim {order.name}, node {order.node or '(none yet)'}: {change.message}"
        self.say(change.pool, Reason.NODE_GIVEN_BACK, text)

    def _failed(self, change: Buy | GiveBack, error: PlimsollError) -> None:
        _log.info("node claim not written", node_claim=_name(change), error=str(error))
        if isinstance(error, AlreadyExists):
            self._listener.name_taken(_name(change))
        elif isinstance(change, Buy):
            message = error.message if isinstance(error, ApiError) else str(error)
            text = f"NodeClaim {change.name} cannot be created: {message}"
            self.say(change.pool, Reason.ORDER_REFUSED, text, warning=True)
            self._listener.order_failed(change.pool, change.name)

    def say(self, pool: GPUPool, reason: Reason, message: str, *, warning: bool = False) -> None:
        """Record an event on a pool."""
        meta = pool.metadata
        subject = Subject(API_VERSION, pool.kind, meta.name, meta.uid)
        self._events.record(Saying(subject, reason, message, warning))
        _log.info(message, pool=meta.name, reason=reason)


def _name(change: Buy | GiveBack) -> str:
    return change.name if isinstance(change, Buy) else change.order.name
