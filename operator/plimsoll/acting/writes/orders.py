"""Order nodes and give them back, by Karpenter's NodeClaims or by ProvisioningRequests."""

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn, Protocol, assert_never

from plimsoll.acting.nodes.node_claims import node_claim
from plimsoll.acting.nodes.provisioning_requests import pod_template, provisioning_request
from plimsoll.api.definition import API_VERSION
from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.parts.provisioning.node_claim_template import NodeClaimTemplate
from plimsoll.api.parts.provisioning.provisioning_request_template import (
    ProvisioningRequestTemplate,
)
from plimsoll.errors import AlreadyExists, ApiError, NotFound, PlimsollError
from plimsoll.kube.events import EventRecorder, Saying, Subject
from plimsoll.kube.http.client import Deletion, KubeClient
from plimsoll.kube.http.resources import NODE_CLAIMS, POD_TEMPLATES, PROVISIONING_REQUESTS
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import KubeObject
from plimsoll.kube.objects.provisioning_request import ProvisioningRequest
from plimsoll.observe.nodes.orders import Way
from plimsoll.observe.nodes.provisioning_requests import NodeRequest
from plimsoll.observe.snapshot import NodeView
from plimsoll.planning.provisioning.buying.withdrawals import Withdraw
from plimsoll.planning.provisioning.idle_nodes import GiveBack
from plimsoll.supervision import count_unforeseen
from plimsoll.vocabulary import logs, metrics
from plimsoll.vocabulary.reasons import Reason

_log = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class Buy:
    """Order a node of a pool under a name that is free; `why`, unless jobs wait for it."""

    pool: GPUPool
    template: NodeClaimTemplate
    name: str
    why: str = ""

    @property
    def text(self) -> str:
        """What is ordered, for people."""
        return f"{Way.NODE_CLAIM} {self.name}"


@dataclass(frozen=True, slots=True)
class Ask:
    """Order several nodes of a pool, all or none, under a name that is free.

    `there`: all nodes that are there already; `why`, unless jobs wait for them.
    """

    pool: GPUPool
    template: ProvisioningRequestTemplate
    name: str
    count: int
    namespace: str
    there: tuple[NodeView, ...]
    why: str = ""

    @property
    def text(self) -> str:
        """What is ordered, for people."""
        nodes = "1 node" if self.count == 1 else f"{self.count} nodes"
        return f"{Way.PROVISIONING_REQUEST} {self.namespace}/{self.name} for {nodes}"


Change = Buy | GiveBack | Ask | Withdraw


class OrderListener(Protocol):
    """Receives what was written, and what was not."""

    def wrote_node_claim(self, claim: NodeClaim) -> None:
        """A node was ordered, or is being given back."""
        ...

    def wrote_provisioning_request(self, request: ProvisioningRequest) -> None:
        """Several nodes were ordered."""
        ...

    def order_failed(self, pool: GPUPool, name: str) -> None:
        """Nothing could be ordered under this name."""
        ...

    def name_taken(self, name: str) -> None:
        """An order of that name exists, which may be of others."""
        ...


class OrderWriter:
    """Writes while `run` runs, one after another; what fails is decided anew."""

    def __init__(self, client: KubeClient, events: EventRecorder, listener: OrderListener) -> None:
        self._client, self._events, self._listener = client, events, listener
        self._queue: asyncio.Queue[Change] = asyncio.Queue()
        self._under_way: set[str] = set()

    @property
    def under_way(self) -> frozenset[str]:
        """The names of what was submitted and is still to be written."""
        return frozenset(self._under_way)

    def submit(self, changes: Iterable[Change]) -> None:
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
            except Exception as error:  # noqa: BLE001 - around one order
                count_unforeseen("order", error, order=_name(change))
            finally:
                self._under_way.discard(_name(change))

    async def _write(self, change: Change) -> None:
        match change:
            case Buy():
                await self._buy(change)
            case GiveBack():
                await self._give_back(change)
            case Ask():
                await self._ask(change)
            case Withdraw():
                await self._withdraw(change.request)
            case _:
                assert_never(change)

    async def _buy(self, change: Buy) -> None:
        body = node_claim(change.pool, change.template, change.name)
        made = await self._client.create(NODE_CLAIMS.everywhere(), body, NodeClaim)
        self._listener.wrote_node_claim(made)
        metrics.NODES_ORDERED.labels(change.pool.metadata.name).inc()
        self.say(change.pool, Reason.NODE_ORDERED, _said(change))

    async def _give_back(self, change: GiveBack) -> None:
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

    async def _ask(self, change: Ask) -> None:
        template = pod_template(change.pool, change.template, change.name, change.there)
        body = provisioning_request(
            change.pool, change.template, change.name, pods=template, count=change.count
        )
        # The template first: cluster-autoscaler fails a request for good that has none. One that is
        # there already is from an order that was not made, and says the same.
        with contextlib.suppress(AlreadyExists):
            path = POD_TEMPLATES.within(change.namespace)
            await self._client.create(path, template, KubeObject)
        path = PROVISIONING_REQUESTS.within(change.namespace)
        made = await self._client.create(path, body, ProvisioningRequest)
        self._listener.wrote_provisioning_request(made)
        metrics.NODES_ORDERED.labels(change.pool.metadata.name).inc(change.count)
        self.say(change.pool, Reason.NODE_ORDERED, _said(change))

    async def _withdraw(self, request: NodeRequest) -> None:
        # The request last: while it is there, it is known that its template is to go.
        for template in request.templates:
            with contextlib.suppress(NotFound):
                path = POD_TEMPLATES.named(template, request.namespace)
                await self._client.delete(path, KubeObject)
        with contextlib.suppress(NotFound):
            path = PROVISIONING_REQUESTS.named(request.name, request.namespace)
            await self._client.delete(path, KubeObject, Deletion(uid=request.uid))

    def _failed(self, change: Change, error: PlimsollError) -> None:
        _log.info("order not written", order=_name(change), error=str(error))
        if isinstance(error, AlreadyExists):
            self._listener.name_taken(_name(change))
        elif isinstance(change, Buy | Ask):
            message = error.message if isinstance(error, ApiError) else str(error)
            text = f"{change.text} cannot be created: {message}"
            self.say(change.pool, Reason.ORDER_REFUSED, text, warning=True)
            self._listener.order_failed(change.pool, change.name)

    def say(self, pool: GPUPool, reason: Reason, message: str, *, warning: bool = False) -> None:
        """Record an event on a pool."""
        meta = pool.metadata
        subject = Subject(API_VERSION, pool.kind, meta.name, meta.uid)
        self._events.record(Saying(subject, reason, message, warning))
        _log.info(message, pool=meta.name, reason=reason)


def _said(change: Buy | Ask) -> str:
    return f"{change.text}: {change.why}" if change.why else change.text


def _name(change: Change) -> str:
    match change:
        case Buy() | Ask():
            return change.name
        case GiveBack():
            return change.order.name
        case Withdraw():
            return change.request.name
