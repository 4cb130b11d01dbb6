"""List all objects that plans depend on once, for programs that do not watch."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from plimsoll.api.definition import API_VERSION, GROUP, VERSION, Definition
from plimsoll.api.kinds import KINDS
from plimsoll.errors import ApiError, Forbidden, NotFound
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.http.resources import (
    NAMESPACES,
    NODE_CLAIMS,
    NODES,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
    Resource,
)
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import (
    KubeObject,
    Namespace,
    Node,
    PersistentVolume,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
)
from plimsoll.kube.watching.target_reading import EACH_NAMESPACE, TARGET_LIMITS, Workloads
from plimsoll.kube.watching.workloads import Reference, manifest_of

Raw = dict[str, Any]
TARGETS_SECONDS = 10.0
"""How long to read the workloads that jobs target, some of which may never respond."""
CORE: tuple[tuple[Resource, type[KubeObject]], ...] = (
    (NAMESPACES, Namespace),
    (NODES, Node),
    (PODS, Pod),
    (PRIORITY_CLASSES, PriorityClass),
    (POD_DISRUPTION_BUDGETS, PodDisruptionBudget),
)

OTHERS: tuple[tuple[Resource, type[KubeObject]], ...] = (
    (NODE_CLAIMS, NodeClaim),
    (PERSISTENT_VOLUMES, PersistentVolume),
)
"""What not every cluster has, or not everybody may list."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Kubernetes' own objects with their resource, and custom resources as manifests."""

    core: tuple[tuple[Resource, KubeObject], ...]
    custom: tuple[Raw, ...]


async def listed(
    server: Endpoint, workloads: Iterable[tuple[Resource, type[KubeObject]]]
) -> Listed:
    """Everything; without custom resources if ours are not installed. Raises ApiError.

    `workloads` are the kinds of which some may be adopted.
    """
    async with KubeClient.to(server, may_write=lambda: False) as client:
        core = [
            (resource, each)
            for resource, kind in CORE
            for each in await client.list_all(resource.everywhere(), kind)
        ]
        custom = [raw for kind in KINDS for raw in await _custom(client, kind.definition)]
        adoptable = [
            (resource, each)
            for resource, kind in workloads
            for each in await _where_served(client, resource, kind, custom)
        ]
        others = [
            (resource, each)
            for resource, kind in OTHERS
            for each in await _where_served(client, resource, kind, ())
        ]
    return Listed((*core, *adoptable, *others), (*custom, *await _targets(server, custom)))


async def _where_served(
    client: KubeClient, resource: Resource, kind: type[KubeObject], custom: Iterable[Raw]
) -> Sequence[KubeObject]:
    """All objects of a kind; none if the kind is not installed.

    None either if they may not be listed, unless a custom resource stands for one: not everybody
    who may list the rest may list these.
    """
    try:
        return await client.list_all(resource.everywhere(), kind)
    except NotFound:
        return []
    except Forbidden:
        references: Iterable[Raw] = (raw["spec"].get("workloadRef") or {} for raw in custom)
        if any(each.get("apiVersion") == resource.api_version for each in references):
            raise
        return []


async def _custom(client: KubeClient, kind: Definition) -> list[Raw]:
    path = Resource(GROUP, VERSION, kind.plural).everywhere()
    try:
        found = await client.list_all(path, Raw)
    except NotFound:
        return []
    return [{**raw, "apiVersion": API_VERSION, "kind": kind.kind} for raw in found]


async def _targets(server: Endpoint, custom: Iterable[Raw]) -> list[Raw]:
    """The workloads that jobs target, as far as they exist, may be read, and respond in time."""
    references = dict.fromkeys(reference for raw in custom if (reference := _reference(raw)))
    if not references:
        return []
    async with KubeClient.to(server, may_write=lambda: False, limits=TARGET_LIMITS) as client:
        workloads = Workloads(client)
        turns = {each.namespace: asyncio.Semaphore(EACH_NAMESPACE) for each in references}
        reads = [
            asyncio.create_task(_target(workloads, each, turns[each.namespace]))
            for each in references
        ]
        done, late = await asyncio.wait(reads, timeout=TARGETS_SECONDS)
        for each in late:
            each.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return [found for each in reads if each in done and (found := each.result())]


def _reference(raw: Raw) -> Reference | None:
    ref = raw["spec"].get("targetRef")
    if not ref:
        return None
    return Reference(raw["metadata"]["namespace"], ref["apiVersion"], ref["kind"], ref["name"])


async def _target(
    workloads: Workloads, reference: Reference, turn: asyncio.Semaphore
) -> Raw | None:
    try:
        async with turn:
            reading = await workloads.read(reference, None)
    except ApiError:
        return None
    if reading.problem:
        return None
    found: Raw = msgspec.to_builtins(manifest_of(reading))
    return {**found, "metadata": {**found["metadata"], "uid": reading.scale.metadata.uid}}
