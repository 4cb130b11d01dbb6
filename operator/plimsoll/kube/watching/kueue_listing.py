"""List Kueue's objects once, and the nodes and PriorityClasses that they are compared with."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from plimsoll.errors import Forbidden, NotFound
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.http.resources import (
    NODES,
    PRIORITY_CLASSES,
    ApiPath,
    Resource,
    group_version,
    joined,
)
from plimsoll.kube.objects.discovery import ServedKinds
from plimsoll.kube.objects.objects import Wire

Raw = dict[str, Any]
_CORE: Final = ((NODES, "Node"), (PRIORITY_CLASSES, "PriorityClass"))


class _Version(Wire, frozen=True):
    version: str


class _Group(Wire, frozen=True):
    versions: tuple[_Version, ...] = ()


class KueueListing(msgspec.Struct, frozen=True):
    """What was found, and what is missing for lack of a right or of a CustomResourceDefinition."""

    manifests: tuple[Raw, ...]
    missing: tuple[str, ...]


async def listed_kueue(
    server: Endpoint, group: str, versions: Sequence[str], kinds: Sequence[str]
) -> KueueListing:
    """All objects of these kinds, in the first of the versions that is served. Raises ApiError."""
    async with KubeClient.to(server, may_write=lambda: False) as client:
        version = await _served(client, group, versions)
        known = await client.get(group_version(group, version), ServedKinds)
        plurals = {each.kind: each.name for each in known.resources if "/" not in each.name}
        if plurals.keys().isdisjoint(kinds):
            raise NotFound(f"{group}/{version} has none of its kinds")
        found: list[Raw] = []
        for kind in kinds:
            if kind in plurals:
                resource = Resource(group, version, plurals[kind])
                found += await _manifests(client, resource, kind)
        missing = [f"{kind}: {group}/{version} has no such kind" for kind in kinds - plurals.keys()]
        for resource, kind in _CORE:
            try:
                found += await _manifests(client, resource, kind)
            except Forbidden as error:
                missing.append(f"{kind}: {error.message}")
    return KueueListing(tuple(found), tuple(missing))


async def _served(client: KubeClient, group: str, versions: Sequence[str]) -> str:
    """The version to read. Raises NotFound."""
    try:
        found = await client.get(ApiPath(joined("apis", group), "apis"), _Group)
    except NotFound as error:
        raise NotFound(f"it has no API group {group}") from error
    served = {each.version for each in found.versions}
    version = next((each for each in versions if each in served), None)
    if version is None:
        raise NotFound(f"it serves {group} as {', '.join(sorted(served))}")
    return version


async def _manifests(client: KubeClient, resource: Resource, kind: str) -> list[Raw]:
    raws = await client.list_all(resource.everywhere(), Raw)
    return [{**raw, "apiVersion": resource.api_version, "kind": kind} for raw in raws]
