"""Add and remove the quarantine taint: one JSON patch per node, so that others' taints survive."""

import asyncio
from collections.abc import Iterable
from typing import NoReturn

from plimsoll.errors import PlimsollError
from plimsoll.kube.events import EventRecorder, Saying, Subject
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import NODES
from plimsoll.kube.objects.objects import Node
from plimsoll.planning.disruption.quarantine import Quarantine, Release, quarantine_taint
from plimsoll.supervision import count_unforeseen
from plimsoll.vocabulary import logs
from plimsoll.vocabulary.reasons import Reason

_log = logs.logger(__name__)
Operation = dict[str, object]


class NodeWriter:
    """Writes while `run` runs; what fails is written again by the next turn."""

    def __init__(self, client: KubeClient, events: EventRecorder) -> None:
        self._client, self._events = client, events
        self._queue: asyncio.Queue[Quarantine | Release] = asyncio.Queue()

    @property
    def is_busy(self) -> bool:
        """Whether anything submitted is still queued."""
        return not self._queue.empty()

    def submit(self, changes: Iterable[Quarantine | Release]) -> None:
        """Queue changes of nodes."""
        for change in changes:
            self._queue.put_nowait(change)

    async def run(self) -> NoReturn:
        """Write until cancelled."""
        while True:
            change = await self._queue.get()
            try:
                await self._write(change)
            except PlimsollError as error:
                _log.warning("node not written", node=change.node.name, error=str(error))
            except Exception as error:  # noqa: BLE001 - around one node
                count_unforeseen("node", error, node=change.node.name)

    async def _write(self, change: Quarantine | Release) -> None:
        node = change.node
        await self._client.json_patch(NODES.named(node.name, ""), operations(change), Node)
        reason = Reason.QUARANTINED if isinstance(change, Quarantine) else Reason.RELEASED
        subject = Subject("v1", "Node", node.name, node.node.metadata.uid, "")
        warning = reason is Reason.QUARANTINED
        self._events.record(Saying(subject, reason, change.message, warning))
        _log.info(change.message, node=node.name, reason=reason)


def operations(change: Quarantine | Release) -> list[Operation]:
    """The JSON patch (RFC 6902) for a node as it was seen; it fails if the node has changed."""
    meta, taints = change.node.node.metadata, change.node.node.spec.taints
    same: Operation = {
        "op": "test",
        "path": "/metadata/resourceVersion",
        "value": meta.resource_version,
    }
    if isinstance(change, Quarantine):
        return [same, _added(change, first=not taints)]
    found = quarantine_taint(change.node)
    places = [index for index, taint in enumerate(taints) if taint == found]
    return [same, *({"op": "remove", "path": f"/spec/taints/{index}"} for index in places)]


def _added(change: Quarantine, *, first: bool) -> Operation:
    taint = {
        "key": change.taint.key,
        "value": change.taint.value,
        "effect": change.taint.effect,
    }
    if first:
        return {"op": "add", "path": "/spec/taints", "value": [taint]}
    return {"op": "add", "path": "/spec/taints/-", "value": taint}
