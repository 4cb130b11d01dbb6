"""Suspend, resume and resize adopted workloads."""

from typing import Any, Protocol

from plimsoll.acting.step import WorkloadWrites
from plimsoll.errors import Conflict, Forbidden, Invalid, NotFound
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import BATCH_JOBS
from plimsoll.kube.objects.batch_job import BatchJob

Operation = dict[str, Any]


class WorkloadListener(Protocol):
    """Receives what was written."""

    def wrote_workload(self, job: BatchJob) -> None:
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
        path = BATCH_JOBS.named(writes.reference.name, writes.reference.namespace)
        try:
            there = await self._client.json_patch(path, operations(writes), BatchJob)
        except NotFound as error:
            raise Conflict(f"{writes.reference} is gone") from error
        except Forbidden as error:
            return error.message
        except Invalid as error:
            if writes.suspend is None or not writes.suspend:
                return f"{writes.reference} cannot be resumed: {error.message}"
            raise Conflict(f"{writes.reference} has changed: {error.message}") from error
        self._listener.wrote_workload(there)
        return ""


def operations(writes: WorkloadWrites) -> list[Operation]:
    """The JSON patch (RFC 6902) for a Job; it fails if another Job has its name by now."""
    found: list[Operation] = [{"op": "test", "path": "/metadata/uid", "value": writes.uid}]
    if writes.suspend is not None:
        found.append({"op": "add", "path": "/spec/suspend", "value": writes.suspend})
    sized = ("parallelism", "completions") if writes.size is not None else ()
    sizes = ({"op": "add", "path": f"/spec/{name}", "value": writes.size} for name in sized)
    return [*found, *sizes]
