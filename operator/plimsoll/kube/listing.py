"""All objects that plans depend on, listed once: for programs that ask and do not watch."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from kubernetes.config import ConfigException

from plimsoll.api.definition import API_VERSION, GROUP, VERSION, Definition
from plimsoll.api.kinds import KINDS
from plimsoll.errors import NoCluster, NotFound
from plimsoll.kube.client import KubeClient
from plimsoll.kube.credentials import Endpoint, endpoint
from plimsoll.kube.objects import (
    KubeObject,
    Namespace,
    Node,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
)
from plimsoll.kube.resources import (
    NAMESPACES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
    Resource,
)
from plimsoll.kube.target_reading import Workloads
from plimsoll.kube.workloads import Reference, manifest_of

Raw = dict[str, Any]
CORE: tuple[tuple[Resource, type[KubeObject]], ...] = (
    (NAMESPACES, Namespace),
    (NODES, Node),
    (PODS, Pod),
    (PRIORITY_CLASSES, PriorityClass),
    (POD_DISRUPTION_BUDGETS, PodDisruptionBudget),
)


@dataclass(frozen=True, slots=True)
class Listed:
    """Kubernetes' own objects with their resource, and custom resources as manifests."""

    core: tuple[tuple[Resource, KubeObject], ...]
    custom: tuple[Raw, ...]


def configured(kubeconfig: str | Path | None, context: str | None) -> Endpoint:
    """The API server that is meant, as kubectl finds it. Raises NoCluster."""
    try:
        return endpoint(kubeconfig, context=context)
    except (ConfigException, OSError) as error:
        raise NoCluster(str(error)) from error


async def listed(server: Endpoint) -> Listed:
    """Everything; where our custom resources are not installed, none of these. Raises ApiError."""
    async with KubeClient(server, may_write=lambda: False) as client:
        core = [
            (resource, each)
            for resource, kind in CORE
            for each in await client.list_all(resource.everywhere(), kind)
        ]
        custom = [raw for kind in KINDS for raw in await _custom(client, kind.definition)]
        targets = [found for raw in custom async for found in _target(client, raw)]
        return Listed(tuple(core), (*custom, *targets))


async def _custom(client: KubeClient, kind: Definition) -> list[Raw]:
    path = Resource(GROUP, VERSION, kind.plural).everywhere()
    try:
        found = await client.list_all(path, Raw)
    except NotFound:
        return []
    return [{**raw, "apiVersion": API_VERSION, "kind": kind.kind} for raw in found]


async def _target(client: KubeClient, raw: Raw) -> AsyncIterator[Raw]:
    """The workload that a job targets, where there is one and it may be read."""
    ref = raw["spec"].get("targetRef")
    if not ref:
        return
    reference = Reference(raw["metadata"]["namespace"], ref["apiVersion"], ref["kind"], ref["name"])
    reading = await Workloads(client).read(reference, None)
    if not reading.problem:
        found: Raw = msgspec.to_builtins(manifest_of(reading))
        yield {**found, "metadata": {**found["metadata"], "uid": reading.scale.metadata.uid}}
