"""Suspend, resume and resize adopted workloads."""

from typing import Any, Protocol, cast

from plimsoll.acting.step import WorkloadWrites
from plimsoll.errors import Conflict, Forbidden, Invalid, NotFound
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.observe.adoption.kinds.table import adapter_at


class WorkloadListener(Protocol):
    """Receives what was written."""

    def wrote_workload(self, item: WorkloadObject) -> None:
        """An adopted workload was written."""
        ...


class WorkloadWriter:
    """Writes to them."""

    def __init__(self, client: KubeClient, listener: WorkloadListener) -> None:
        self._client, self._listener = client, listener

    async def write(self, writes: WorkloadWrites) -> str:
        """Suspend, resume or resize; return why that was refused, "" if it was not.

        Raises Conflict if it is no longer as it was seen, and other ApiErrors.
        """
        reference = writes.workload.reference
        adapter = adapter_at(reference)
        path = adapter.resource.named(reference.name, reference.namespace)
        try:
            there = await self._client.merge_patch(path, patch(writes), adapter.type)
        except NotFound as error:
            raise Conflict(f"{reference} is gone") from error
        except Forbidden as error:
            return error.message
        except Invalid as error:
            if writes.suspend is None or not writes.suspend:
                return f"{reference} cannot be resumed: {error.message}"
            raise Conflict(f"{reference} has changed: {error.message}") from error
        self._listener.wrote_workload(there)
        return ""


def patch(writes: WorkloadWrites) -> dict[str, Any]:
    """The JSON merge patch for a workload; it fails if another one has its name by now."""
    workload, found = writes.workload, dict[str, Any]()
    if writes.size is not None and workload.sizing is not None:
        found = workload.sizing.patch(writes.size)
    if writes.suspend is not None:
        whether = adapter_at(workload.reference).suspension(suspend=writes.suspend)
        found = _merged(found, whether)
    return {**found, "metadata": {"uid": workload.uid}}


def _merged(some: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    """Two merge patches as one, of different fields."""
    found = {**some}
    for name, value in others.items():
        inner = found.get(name)
        if isinstance(inner, dict):
            found[name] = _merged(cast("dict[str, Any]", inner), value)
        else:
            found[name] = value
    return found
