"""Report objects that cannot be read: in the object's status, and as an event."""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NoReturn

from plimsoll.acting.conditions.unreadable import refused_status
from plimsoll.api.definition import API_VERSION, GROUP, VERSION
from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.errors import PlimsollError
from plimsoll.kube.events import EventRecorder, Saying, Subject
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.objects import KubeObject
from plimsoll.kube.queues.fair_queue import FairQueue
from plimsoll.observe.refused import RefusedObject
from plimsoll.supervision import count_unforeseen
from plimsoll.vocabulary import logs
from plimsoll.vocabulary.reasons import Reason

AGAIN_SECONDS: Final = 30.0
"""How long after a failed write it is tried again."""
_log = logs.logger(__name__)


class RefusedWriter:
    """Writes while `run` runs, one object at a time, with namespaces taking turns.

    Each version of an object is reported once, and again after a while if that failed.
    """

    def __init__(
        self,
        client: KubeClient,
        events: EventRecorder,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._events, self._clock = client, events, clock
        self._queue: FairQueue[tuple[RefusedObject, Mapping[str, Any]]] = FairQueue(each=1)
        self._submitted: dict[str, tuple[str, float]] = {}

    def submit(self, refused: Iterable[RefusedObject], now: datetime) -> None:
        """Queue reports about these objects; all others are forgotten."""
        before, self._submitted = self._submitted, {}
        for each in refused:
            version, again_at = before.get(each.uid, ("", math.inf))
            if version == each.version and self._clock() < again_at:
                self._submitted[each.uid] = version, again_at
                continue
            self._submitted[each.uid] = each.version, math.inf
            patch = refused_status(each, now)
            if patch:
                self._queue.put(each.namespace, (each, patch))

    async def run(self) -> NoReturn:
        """Write until cancelled."""
        while True:
            namespace, (refused, patch) = await self._queue.get()
            try:
                await self._write(refused, patch)
            except PlimsollError as error:
                _log.debug("refusal not reported", object=str(refused), error=str(error))
                self._failed(refused)
            except Exception as error:  # noqa: BLE001 - around one object: others are reported
                count_unforeseen("refusal", error, object=str(refused))
                self._failed(refused)
            finally:
                self._queue.done(namespace)

    def _failed(self, refused: RefusedObject) -> None:
        """Report the same version again, but not at once; a newer one is reported at once."""
        if self._submitted.get(refused.uid, ("", 0.0))[0] == refused.version:
            self._submitted[refused.uid] = refused.version, self._clock() + AGAIN_SECONDS

    async def _write(self, refused: RefusedObject, patch: Mapping[str, Any]) -> None:
        definition = KIND_BY_NAME[refused.kind].definition
        place = Resource(GROUP, VERSION, definition.plural, namespaced=definition.namespaced)
        path = place.named(refused.name, refused.namespace, "status")
        await self._client.patch_status(path, patch, KubeObject, resource_version=refused.version)
        subject = Subject(API_VERSION, refused.kind, refused.name, refused.uid, refused.namespace)
        self._events.record(Saying(subject, Reason.INVALID_SPEC, refused.why, warning=True))
