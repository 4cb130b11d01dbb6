"""Read a running cluster: list it once with the user's own permissions. Nothing is written."""

import asyncio
from collections.abc import Iterator

from plimsoll.cli.cluster.refusals import explained
from plimsoll.cli.inputs.entries import Entry, Key
from plimsoll.cli.inputs.manifests import Manifest, Origin
from plimsoll.cli.output.progress import slow
from plimsoll.kube.http.configured import configured
from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.objects import KubeObject
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.kube.watching.listing import Listed, listed
from plimsoll.observe.adoption.asking import is_watched
from plimsoll.observe.adoption.kinds.table import ADAPTERS, adapter_of

_ELSE = "or read a file with --snapshot or --cluster"


def live(
    kubeconfig: str | None, context: str | None, *, otherwise: str = _ELSE
) -> list[Entry | Manifest]:
    """All objects that plans depend on. Raises BadInput, which says what to do, or what else."""
    with explained(otherwise), slow("reading the cluster"):
        server = configured(kubeconfig, context)
        found = asyncio.run(listed(server, [(each.resource, each.type) for each in ADAPTERS]))
        return [*_entries(found, server.server)]


def _entries(found: Listed, server: str) -> Iterator[Entry | Manifest]:
    origin = Origin(server)
    for resource, each in found.core:
        if isinstance(each, WorkloadObject) and not is_watched(each):
            continue
        manifest = Manifest(origin, _head(resource, each))
        key = Key(manifest.kind, each.metadata.namespace, each.metadata.name)
        yield Entry(key, manifest, each)
    for raw in found.custom:
        yield Manifest(origin, raw)


def _head(resource: Resource, each: KubeObject) -> dict[str, object]:
    meta = {"name": each.metadata.name, "uid": each.metadata.uid}
    kind = adapter_of(each).kind if isinstance(each, WorkloadObject) else type(each).__name__
    return {"apiVersion": resource.api_version, "kind": kind, "metadata": meta}
