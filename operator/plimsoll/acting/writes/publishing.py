"""Write the statuses of cluster-wide resources, one after another, unless they are stale.

Changes of a power domain also become events.
"""

import asyncio
from collections.abc import Iterable
from typing import NoReturn

from plimsoll.acting.cluster.cluster_status import ClusterResource, ClusterStatus
from plimsoll.acting.cluster.power_status import power_events
from plimsoll.acting.patches import status_patch
from plimsoll.api.definition import API_VERSION, GROUP, VERSION
from plimsoll.api.power_domain import PowerDomain, PowerDomainStatus
from plimsoll.errors import PlimsollError
from plimsoll.kube.events import EventRecorder, Saying, Subject
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.objects import KubeObject
from plimsoll.supervision import count_unforeseen
from plimsoll.vocabulary import logs

_log = logs.logger(__name__)


class Publisher:
    """Writes while `run` runs; what fails is written again by the next turn."""

    def __init__(self, client: KubeClient, events: EventRecorder) -> None:
        self._client, self._events = client, events
        self._queue: asyncio.Queue[tuple[ClusterResource, ClusterStatus]] = asyncio.Queue()

    @property
    def is_busy(self) -> bool:
        """Whether anything submitted is still queued."""
        return not self._queue.empty()

    def submit(self, statuses: Iterable[tuple[ClusterResource, ClusterStatus]]) -> None:
        """Queue the statuses of cluster-wide resources."""
        for each in statuses:
            self._queue.put_nowait(each)

    async def run(self) -> NoReturn:
        """Write until cancelled."""
        while True:
            resource, status = await self._queue.get()
            name = resource.metadata.name
            try:
                await self._publish(resource, status)
            except PlimsollError as error:
                _log.debug("status not published", object=name, error=str(error))
            except Exception as error:  # noqa: BLE001 - around one object
                count_unforeseen("status", error, object=name)

    async def _publish(self, resource: ClusterResource, status: ClusterStatus) -> None:
        await self._write(resource, status)
        if isinstance(resource, PowerDomain) and isinstance(status, PowerDomainStatus):
            self._record(resource, status)

    async def _write(self, resource: ClusterResource, status: ClusterStatus) -> None:
        meta, plural = resource.metadata, type(resource).definition.plural
        path = Resource(GROUP, VERSION, plural, namespaced=False).named(meta.name, "", "status")
        patch = status_patch(resource.status, status)
        await self._client.patch_status(
            path, patch, KubeObject, resource_version=meta.resource_version
        )

    def _record(self, domain: PowerDomain, status: PowerDomainStatus) -> None:
        about = Subject(API_VERSION, domain.kind, domain.metadata.name, domain.metadata.uid)
        for reason, message, warning in power_events(domain.status, status):
            self._events.record(Saying(about, reason, message, warning))
            _log.info(message, power_domain=domain.metadata.name, reason=reason)
