"""How people are told of objects that cannot be read: in the object's status, and as an event."""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NoReturn

from plimsoll import telemetry
from plimsoll.acting.refused_status import refused_status
from plimsoll.api.definition import API_VERSION, GROUP, VERSION
from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.errors import PlimsollError
from plimsoll.kube.client import KubeClient
from plimsoll.kube.events import EventRecorder, Saying, Subject
from plimsoll.kube.objects import KubeObject
from plimsoll.kube.resources import Resource
from plimsoll.observe.refused import RefusedObject
from plimsoll.supervision import count_unforeseen
from plimsoll.telemetry import Reason

_log = telemetry.logger(__name__)


class RefusedWriter:
    """Writes while `run` runs, each version of an object once, one after the other."""

    def __init__(self, client: KubeClient, events: EventRecorder) -> None:
        self._client, self._events = client, events
        self._queue: asyncio.Queue[tuple[RefusedObject, Mapping[str, Any]]] = asyncio.Queue()
        self._submitted: dict[str, str] = {}

    def submit(self, refused: Iterable[RefusedObject], now: datetime) -> None:
        """Queue what is to be said of these objects; others are forgotten."""
        before, self._submitted = self._submitted, {}
        for each in refused:
            self._submitted[each.uid] = each.version
            patch = {} if before.get(each.uid) == each.version else refused_status(each, now)
            if patch:
                self._queue.put_nowait((each, patch))

    async def run(self) -> NoReturn:
        """Write until cancelled."""
        while True:
            refused, patch = await self._queue.get()
            try:
                await self._write(refused, patch)
            except PlimsollError as error:
                # A later version is told of anew, and so is this one if nothing has come of it.
                self._submitted.pop(refused.uid, None)
                _log.debug("refusal not told", object=str(refused), error=str(error))
            except Exception as error:  # noqa: BLE001 - around one object
                count_unforeseen("refusal", error, object=str(refused))

    async def _write(self, refused: RefusedObject, patch: Mapping[str, Any]) -> None:
        definition = KIND_BY_NAME[refused.kind].definition
        place = Resource(GROUP, VERSION, definition.plural, namespaced=definition.namespaced)
        path = place.named(refused.name, refused.namespace, "status")
        await self._client.patch_status(path, patch, KubeObject, resource_version=refused.version)
        subject = Subject(API_VERSION, refused.kind, refused.name, refused.uid, refused.namespace)
        self._events.record(Saying(subject, Reason.INVALID_SPEC, refused.why, warning=True))
