"""Suspend, resume and resize adopted workloads."""

from typing import Protocol

from plimsoll.acting.step import WorkloadWrites
from plimsoll.errors import Conflict, Forbidden, Invalid, NotFound
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.observe.adoption.kinds.table import adapter_at
from plimsoll.observe.adoption.workload_view import Operation, Patch


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
            if writes.suspend:
                there = await self._client.merge_patch(path, suspension(writes), adapter.type)
            else:
                there = await self._client.json_patch(path, operations(writes), adapter.type)
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


def suspension(writes: WorkloadWrites) -> Patch:
    """The JSON merge patch that suspends a workload; it fails if another has its name by now.

    Only that needs no field to be there: a user may have removed the one around it.
    """
    adapter, workload = adapter_at(writes.workload.reference), writes.workload
    return {**adapter.suspension(suspend=True), "metadata": {"uid": workload.uid}}


def operations(writes: WorkloadWrites) -> list[Operation]:
    """The JSON patch that resumes or resizes a workload; it fails if another has its name by now.

    Only that reaches into lists.
    """
    workload = writes.workload
    found: list[Operation] = [{"op": "replace", "path": "/metadata/uid", "value": workload.uid}]
    if writes.size is not None and workload.sizing is not None:
        found += workload.sizing.operations(writes.size, writes.leaving)
    if writes.suspend is not None:
        found.append(adapter_at(workload.reference).resumption())
    return found
