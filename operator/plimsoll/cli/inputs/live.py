"""Read a running cluster: list it once with the user's own permissions. Nothing is written."""

import asyncio
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from plimsoll.cli.inputs.entries import Entry, Key
from plimsoll.cli.inputs.manifests import Manifest, Origin
from plimsoll.errors import (
    ApiError,
    BadInput,
    Forbidden,
    NoCluster,
    Unauthorized,
    Unavailable,
)
from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.objects import KubeObject
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.kube.watching.listing import Listed, configured, listed
from plimsoll.observe.adoption.asking import is_watched
from plimsoll.observe.adoption.kinds.table import ADAPTERS, adapter_of

_ELSE = "or read a file with --snapshot or --cluster"


def live(kubeconfig: str | None, context: str | None) -> list[Entry | Manifest]:
    """All objects that plans depend on. Raises BadInput, which says what to do."""
    with explained(_ELSE):
        server = configured(kubeconfig, context)
        found = asyncio.run(listed(server, [(each.resource, each.type) for each in ADAPTERS]))
        return [*_entries(found, server.server)]


@contextmanager
def explained(otherwise: str) -> Generator[None]:
    """Turn what a cluster refuses into BadInput, which says what to do, `or ` what else to do."""
    try:
        yield
    except NoCluster as error:
        said = f"no cluster configured: {error}: name one with --kubeconfig and --context"
        raise BadInput([f"{said}, {otherwise}"]) from error
    except Forbidden as error:
        said = f"the cluster denies access: {error}: get permission to list"
        raise BadInput([f"{said}, {otherwise}"]) from error
    except Unauthorized as error:
        said = f"the cluster rejects your credentials: {error}: log in again"
        raise BadInput([f"{said}, {otherwise}"]) from error
    except Unavailable as error:
        said = f"the cluster does not respond: {error}: check that kubectl reaches it"
        raise BadInput([f"{said}, {otherwise}"]) from error
    except ApiError as error:
        said = f"the cluster refuses the request: {error}"
        raise BadInput([f"{said}: {otherwise.removeprefix('or ')}"]) from error


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
