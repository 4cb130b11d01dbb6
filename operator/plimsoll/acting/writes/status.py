"""Write a job's status while its user may be editing the job.

A status only replaces the one that it was computed from, so that if two operators both think that
they lead, one fails. An edit of the rest of the job is no reason to fail: a user who kept editing a
job would keep its place from everybody else.
"""

from typing import Any, Protocol

from pydantic import ValidationError

from plimsoll.acting.patches import status_of, status_operations
from plimsoll.acting.step import Step
from plimsoll.api.definition import GROUP, VERSION
from plimsoll.api.kinds import JobStatus
from plimsoll.errors import Conflict, Invalid
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import ApiPath, Resource
from plimsoll.observe.snapshot import JobView

Raw = dict[str, Any]


class StatusListener(Protocol):
    """Receives what was read and written, before the watches report it."""

    def read_job(self, raw: Raw) -> None:
        """A job was read from the API server."""
        ...

    def wrote_status(self, job: JobView, status: JobStatus, version: str) -> None:
        """A job's status was written to the API server, in this version."""
        ...


class StatusWriter:
    """Writes the statuses of jobs."""

    def __init__(self, client: KubeClient, listener: StatusListener) -> None:
        self._client, self._listener = client, listener

    async def write(self, step: Step) -> None:
        """Write a step's status if it differs from the job's.

        Raises Conflict if the status is no longer the one that the step was computed from, if the
        job is another one or is being deleted, and if its spec has changed and pods are to be made
        from it. Other ApiErrors pass through.
        """
        job, meta = step.job, step.job.resource.metadata
        if step.status == job.status_written:
            return
        path = resource_of(job).named(meta.name, meta.namespace, "status")
        try:
            written = await self._client.replace_status(path, status_of(job.resource, step.status))
        except Conflict:
            await self._write_beside_edits(step, path)
        else:
            self._listener.wrote_status(job, step.status, written.metadata.resource_version)

    async def _write_beside_edits(self, step: Step, path: ApiPath) -> None:
        """Write the status of a job that was edited, however often it is edited meanwhile.

        The listener receives the whole job each time, because its spec may have changed as well.
        """
        job, meta = step.job, step.job.resource.metadata
        # A patch that changes nothing is not stored. It returns the object, and needs no permission
        # to read each job by name.
        raw = await self._client.merge_patch(path, {}, Raw)
        self._listener.read_job(raw)
        now = raw["metadata"]
        if now["uid"] != meta.uid:
            raise Conflict(f"{job.name} is now another job")
        if now.get("deletionTimestamp") and meta.deletion_timestamp is None:
            raise Conflict(f"{job.name} is being deleted")
        if step.create and now["generation"] != meta.generation:
            raise Conflict(f"the spec of {job.name} has changed")
        if not _is_same(job.status_written, raw.get("status", {})):
            raise Conflict(f"the status of {job.name} has changed")
        operations = status_operations(raw, step.status)
        if step.create:
            generation = {"op": "test", "path": "/metadata/generation", "value": meta.generation}
            operations.insert(0, generation)
        try:
            self._listener.read_job(await self._client.json_patch(path, operations, Raw))
        except Invalid as error:
            raise Conflict(f"{job.name} has changed again: {error.message}") from error


def resource_of(job: JobView) -> Resource:
    """The API resource of a job's kind."""
    return Resource(GROUP, VERSION, job.resource.definition.plural)


def _is_same(known: JobStatus, raw: Raw) -> bool:
    """Whether a status is still what is known of it."""
    try:
        return type(known).model_validate(raw) == known
    except ValidationError:
        return False
