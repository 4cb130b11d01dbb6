"""List the objects of an API group once, and those that they are compared with."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from plimsoll.errors import Forbidden, NotFound
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.http.resources import (
    ApiPath,
    Resource,
    group_version,
    joined,
)
from plimsoll.kube.objects.discovery import ServedKinds
from plimsoll.kube.objects.objects import Wire

Raw = dict[str, Any]


class _Version(Wire, frozen=True):
    version: str


class _Group(Wire, frozen=True):
    versions: tuple[_Version, ...] = ()


class Group(msgspec.Struct, frozen=True):
    """The kinds of an API group, and its versions, the preferred one first."""

    name: str
    versions: Sequence[str]
    kinds: Sequence[str]


class Listing(msgspec.Struct, frozen=True):
    """What was found, and what is missing for lack of a right or of a CustomResourceDefinition."""

    manifests: tuple[Raw, ...]
    missing: tuple[str, ...]


async def listed(server: Endpoint, group: Group, core: Mapping[str, Resource]) -> Listing:
    """All objects of a group, in the first of its versions that is served, and of kinds in core.

    Raises ApiError.
    """
    async with KubeClient.to(server, may_write=lambda: False) as client:
        version = await _served(client, group.name, group.versions)
        known = await client.get(group_version(group.name, version), ServedKinds)
        plurals = {each.kind: each.name for each in known.resources if "/" not in each.name}
        here = f"{group.name}/{version}"
        if plurals.keys().isdisjoint(group.kinds):
            raise NotFound(f"{here} has none of its kinds")
        found: list[Raw] = []
        for kind in group.kinds:
            if kind in plurals:
                resource = Resource(group.name, version, plurals[kind])
                found += await _manifests(client, resource, kind)
        missing = [
            f"{kind}: {here} has no such kind" for kind in group.kinds if kind not in plurals
        ]
        for kind, resource in core.items():
            try:
                found += await _manifests(client, resource, kind)
            except Forbidden as error:
                missing.append(f"{kind}: {error.message}")
    return Listing(tuple(found), tuple(missing))


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
