"""Add and remove taints of ours: one JSON patch per node, so that others' taints survive."""

import asyncio
from collections.abc import Iterable
from typing import Final, NoReturn

from plimsoll.errors import PlimsollError
from plimsoll.kube.events import EventRecorder, Saying, Subject
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import NODES
from plimsoll.kube.objects.objects import Node, Taint
from plimsoll.planning.disruption.quarantine import Quarantine, Release
from plimsoll.planning.provisioning.idle_nodes import Close, Reopen
from plimsoll.supervision import count_unforeseen
from plimsoll.vocabulary import logs
from plimsoll.vocabulary.reasons import Reason

_log = logs.logger(__name__)
Operation = dict[str, object]
NodeChange = Quarantine | Release | Close | Reopen

_REASONS: Final[dict[type[NodeChange], Reason]] = {
    Quarantine: Reason.QUARANTINED,
    Release: Reason.RELEASED,
    Close: Reason.NODE_GIVEN_BACK,
    Reopen: Reason.RELEASED,
}


class NodeWriter:
    """Writes while `run` runs; what fails is written again by the next turn."""

    def __init__(self, client: KubeClient, events: EventRecorder) -> None:
        self._client, self._events = client, events
        self._queue: asyncio.Queue[NodeChange] = asyncio.Queue()

    @property
    def is_busy(self) -> bool:
        """Whether anything submitted is still queued."""
        return not self._queue.empty()

    def submit(self, changes: Iterable[NodeChange]) -> None:
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

    async def _write(self, change: NodeChange) -> None:
        node = change.node
        await self._client.json_patch(NODES.named(node.name, ""), operations(change), Node)
        empties = isinstance(change, Close) and change.empties
        reason = Reason.NODE_EMPTIED if empties else _REASONS[type(change)]
        subject = Subject("v1", "Node", node.name, node.node.metadata.uid, "")
        warning = reason is Reason.QUARANTINED
        self._events.record(Saying(subject, reason, change.message, warning))
        _log.info(change.message, node=node.name, reason=reason)


def operations(change: NodeChange) -> list[Operation]:
    """The JSON patch (RFC 6902) for a node as it was seen; it fails if the node has changed."""
    meta, taints = change.node.node.metadata, change.node.node.spec.taints
    same: Operation = {
        "op": "test",
        "path": "/metadata/resourceVersion",
        "value": meta.resource_version,
    }
    if isinstance(change, Quarantine | Close):
        return [same, _added(change.taint, first=not taints)]
    places = [index for index, taint in enumerate(taints) if taint == change.taint]
    return [same, *({"op": "remove", "path": f"/spec/taints/{index}"} for index in places)]


def _added(taint: Taint, *, first: bool) -> Operation:
    added = {"key": taint.key, "value": taint.value, "effect": taint.effect}
    if first:
        return {"op": "add", "path": "/spec/taints", "value": [added]}
    return {"op": "add", "path": "/spec/taints/-", "value": added}
