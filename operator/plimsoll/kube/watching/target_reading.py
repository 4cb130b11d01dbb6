"""Read and scale a workload that another controller runs, through its `/scale`.

It may be of any kind; the API server knows the kind's plural and whether it can be scaled.
"""

import asyncio
import random

from plimsoll.errors import (
    Conflict,
    Forbidden,
    NotFound,
    TooLarge,
    Undecodable,
    UnsafePath,
)
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import Resource, group_version
from plimsoll.kube.http.transport import Limits
from plimsoll.kube.objects.discovery import ServedKinds
from plimsoll.kube.watching.workloads import Reading, Reference, Scale, Workload, unread

TARGET_LIMITS = Limits(
    request_seconds=5.0, attempts=1, response_bytes=2 * 1024**2, reads_at_once=64
)
"""Bounds on the duration and size of a response: a target may be any object, of any server."""
EACH_NAMESPACE = 4
"""The most targets of a namespace that are read or written at a time."""
_FIELD = "spec.targetRef"
ATTEMPTS = 8
RETRY_SECONDS = 0.05
"""How much longer the pause may be at each of the ATTEMPTS to write a count.

Others who write something else of the workload cause conflicts.
"""


class Workloads:
    """Reads and scales workloads."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._kinds: dict[tuple[str, str], Resource] = {}

    async def read(self, reference: Reference, before: Reading | None) -> Reading:
        """The workload as it is now; the same reading if nothing changed.

        Raises ApiError if it cannot be read just now.
        """
        found = await self._found(reference, before)
        return before if before and before == found else found

    async def _found(self, reference: Reference, before: Reading | None) -> Reading:
        try:
            return await self._read(reference, before)
        except NotFound:
            self._kinds.pop((reference.api_version, reference.kind), None)
            return unread(reference, f"there is no {reference}: create it, or correct {_FIELD}")
        except Forbidden as error:
            text = f"{error.message}: grant it with rbac.targets of the Helm chart"
            return unread(reference, text)
        except (TooLarge, Undecodable, UnsafePath) as error:
            text = f"{reference} cannot be a target, {error}: change it, or {_FIELD}"
            return unread(reference, text)

    async def _read(self, reference: Reference, before: Reading | None) -> Reading:
        resource = await self.resource(reference)
        if resource is None:
            text = (
                f"{reference.api_version} has no kind {reference.kind} with a /scale:"
                f" correct {_FIELD}, or install it"
            )
            return unread(reference, text)
        path = (reference.name, reference.namespace)
        scale = await self._client.get(resource.named(*path, "scale"), Scale)
        if before and before.scale.metadata.resource_version == scale.metadata.resource_version:
            return before
        return Reading(reference, scale, await self._client.get(resource.named(*path), Workload))

    async def resource(self, reference: Reference) -> Resource | None:
        """Where the kind is in the API; None if it does not exist, or has no `/scale`."""
        key = (reference.api_version, reference.kind)
        if key not in self._kinds:
            found = await self._discovered(*key)
            if found is None:
                return None
            self._kinds[key] = found
        return self._kinds[key]

    async def _discovered(self, api_version: str, kind: str) -> Resource | None:
        group, _, version = api_version.rpartition("/")
        try:
            found = await self._client.get(group_version(group, version), ServedKinds)
        except NotFound:
            return None
        names = {each.name for each in found.resources}
        plurals = (e.name for e in found.resources if e.kind == kind and e.namespaced)
        plural = next((name for name in plurals if f"{name}/scale" in names), None)
        return Resource(group, version, plural) if plural else None

    async def scale(self, reference: Reference, *, seen: int, replicas: int) -> Scale:
        """Set the count of a workload, provided its count is still the one `seen`, in our name.

        Raises Conflict if it has another by now, since the caller must then look again.
        """
        resource = await self.resource(reference)
        if resource is None:
            raise NotFound(f"there is no {reference}")
        path = resource.named(reference.name, reference.namespace, "scale")
        for attempt in range(ATTEMPTS):
            await asyncio.sleep(attempt * random.uniform(0, RETRY_SECONDS))  # noqa: S311 - no secret
            now = await self._client.get(path, Scale)
            if now.spec.replicas != seen:
                raise Conflict(f"{reference} has {now.spec.replicas} replicas, no longer {seen}")
            meta = {"resourceVersion": now.metadata.resource_version}
            body = {"metadata": meta, "spec": {"replicas": replicas}}
            try:
                return await self._client.merge_patch(path, body, Scale)
            except Conflict:
                continue
        raise Conflict(f"{reference} changes faster than it can be scaled")
