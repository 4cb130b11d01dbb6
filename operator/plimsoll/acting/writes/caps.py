"""Set and remove nodes' power caps: one annotation each, a few at a time, apart from other writes.

The annotation belongs to the operator, so no resource version is required, only the same node. A
change that fails is made again by the next turn.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, NoReturn

from plimsoll.errors import PlimsollError
from plimsoll.kube.events import EventRecorder, Saying, Subject
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import NODES
from plimsoll.kube.objects.objects import Node
from plimsoll.observe.nodes.power_limits import CAP, CAP_TIME
from plimsoll.planning.capping.reaction import CapChange
from plimsoll.supervision import count_unforeseen
from plimsoll.vocabulary import logs

WRITERS: Final = 8
_log = logs.logger(__name__)


class CapWriter:
    """Writes while `run` runs, and reports each written node to `wrote`."""

    def __init__(
        self, client: KubeClient, events: EventRecorder, wrote: Callable[[Node], None]
    ) -> None:
        self._client, self._events, self._wrote = client, events, wrote
        self._queue: asyncio.Queue[CapChange] = asyncio.Queue()
        self._unfinished: set[str] = set()

    def submit(self, changes: Iterable[CapChange]) -> None:
        """Queue changes of nodes; a node whose last change is not written yet must wait."""
        for change in changes:
            if change.node.name not in self._unfinished:
                self._unfinished.add(change.node.name)
                self._queue.put_nowait(change)

    async def run(self) -> NoReturn:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WRITERS):
                group.create_task(self._work())
        raise AssertionError

    async def _work(self) -> NoReturn:
        while True:
            change = await self._queue.get()
            try:
                await self._write(change)
            except PlimsollError as error:
                _log.warning("node not capped", node=change.node.name, error=str(error))
            except Exception as error:  # noqa: BLE001 - around one node
                count_unforeseen("cap", error, node=change.node.name)
            finally:
                self._unfinished.discard(change.node.name)

    async def _write(self, change: CapChange) -> None:
        path = NODES.named(change.node.name, "")
        self._wrote(await self._client.merge_patch(path, patch(change), Node))
        self._report(change)

    def _report(self, change: CapChange) -> None:
        node, before = change.node, change.node.limits.wanted
        _log.info(change.message, node=node.name, reason=change.reason, watts=change.watts)
        if (before is None) != (change.watts is None):
            subject = Subject("v1", "Node", node.name, node.node.metadata.uid, "")
            self._events.record(Saying(subject, change.reason, change.message))


def patch(change: CapChange) -> dict[str, object]:
    """The JSON merge patch (RFC 7396) for this very node; another of the same name rejects it."""
    watts = None if change.watts is None else str(change.watts)
    at = change.at.isoformat(timespec="milliseconds")
    notes = {CAP: watts, CAP_TIME: at}
    return {"metadata": {"uid": change.node.node.metadata.uid, "annotations": notes}}
