"""How steps become writes: a few at a time, each job's in order, the most urgent first.

A step that fails is not tried again as it is: after a rest, longer each time, a turn looks at what
is true then. Until its step is done, a job counts as if it were, so that no plan gives its place
away.
"""

import asyncio
import itertools
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TypeVar

from plimsoll import telemetry
from plimsoll.acting.cluster_status import ClusterResource, ClusterStatus
from plimsoll.acting.node_writing import NodeWriter
from plimsoll.acting.patches import status_patch
from plimsoll.acting.pod_manifest import Manifest
from plimsoll.acting.step import Note, Step
from plimsoll.api.definition import API_VERSION, GROUP, VERSION
from plimsoll.api.kinds import JobStatus
from plimsoll.errors import AlreadyExists, Conflict, NotFound, PlimsollError, Refused
from plimsoll.kube.client import Deletion, KubeClient
from plimsoll.kube.events import EventRecorder, Saying, Subject
from plimsoll.kube.objects import KubeObject, ObjectMeta, Pod
from plimsoll.kube.resources import PODS, SERVICES, Resource
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.telemetry import Reason

WRITERS = 32
SHORTEST_REST_SECONDS = 0.5
LONGEST_REST_SECONDS = 8.0
_log = telemetry.logger(__name__)
T = TypeVar("T")
K = TypeVar("K", bound=KubeObject)


class Listener(Protocol):
    """Who is told what was written, before the watches say it."""

    def wrote_status(self, job: JobView, status: JobStatus, version: str) -> None:
        """A job's status is in the API server, in this version."""
        ...

    def wrote_pod(self, pod: Pod) -> None:
        """A pod was made."""
        ...

    def done(self, step: Step, result: "Result") -> None:
        """A step is over."""
        ...


@dataclass(frozen=True, slots=True)
class Result:
    """How a step went: it is not complete if a write of it failed.

    `refusal` is what stands against making its pods, "" if nothing does.
    """

    complete: bool
    refusal: str = ""


@dataclass(frozen=True, slots=True, order=True)
class _Ticket:
    urgency: int
    number: int


class Writer:
    """Performs steps while `run` runs; one at a time for each job."""

    def __init__(self, client: KubeClient, events: EventRecorder, listener: Listener) -> None:
        self._client = client
        self._events = events
        self._listener = listener
        self._queue: asyncio.PriorityQueue[tuple[_Ticket, Step]] = asyncio.PriorityQueue()
        self._numbers = itertools.count()
        self._in_flight: set[str] = set()
        self._failures: dict[str, int] = {}
        self.nodes = NodeWriter(client, events)
        self._to_publish: asyncio.Queue[tuple[ClusterResource, ClusterStatus]] = asyncio.Queue()

    @property
    def in_flight(self) -> frozenset[str]:
        """The uids of the jobs whose steps are not done."""
        return frozenset(self._in_flight)

    def submit(self, step: Step) -> None:
        """Queue a step: those that tell or delete go before those that make pods."""
        self._in_flight.add(step.job.uid)
        urgency = 2 if step.create else 1 if step.delete else 0
        self._queue.put_nowait((_Ticket(urgency, next(self._numbers)), step))

    @property
    def is_publishing(self) -> bool:
        """Whether what was to be published last is not written yet."""
        return not self._to_publish.empty()

    def publish(self, statuses: Iterable[tuple[ClusterResource, ClusterStatus]]) -> None:
        """Queue the statuses of cluster-wide resources."""
        for each in statuses:
            self._to_publish.put_nowait(each)

    async def run(self) -> NoReturn:
        """Perform steps until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._publish())
            group.create_task(self.nodes.run())
            for _ in range(WRITERS):
                group.create_task(self._work())
        raise AssertionError

    async def _publish(self) -> NoReturn:
        while True:
            resource, status = await self._to_publish.get()
            patch = status_patch(resource.status, status)
            meta, plural = resource.metadata, type(resource).definition.plural
            path = Resource(GROUP, VERSION, plural, namespaced=False).named(meta.name, "", "status")
            try:
                await self._client.patch_status(
                    path, patch, KubeObject, resource_version=meta.resource_version
                )
            except PlimsollError as error:
                _log.debug("status not published", object=meta.name, error=str(error))

    async def _work(self) -> NoReturn:
        while True:
            _, step = await self._queue.get()
            try:
                refusal = await self._perform(step)
            except PlimsollError as error:
                _log.info(
                    "step not done",
                    job=step.job.name,
                    reason=Reason.STALE if isinstance(error, Conflict) else type(error).__name__,
                    error=str(error),
                )
                self._rest(step)
            else:
                self._failures.pop(step.job.uid, None)
                self._end(step, Result(complete=not refusal, refusal=refusal))

    def _rest(self, step: Step) -> None:
        """Let a job be for a while whose step has failed."""
        failures = self._failures.get(step.job.uid, 0)
        seconds = min(SHORTEST_REST_SECONDS * 2**failures, LONGEST_REST_SECONDS)
        self._failures[step.job.uid] = failures + 1
        asyncio.get_running_loop().call_later(seconds, self._end, step, Result(complete=False))

    def _end(self, step: Step, result: Result) -> None:
        self._in_flight.discard(step.job.uid)
        self._listener.done(step, result)

    async def _perform(self, step: Step) -> str:
        """Write all of a step; what stands against making its pods, "" if nothing does."""
        await self._write_status(step.job, step.status)
        await _together(self._delete(pod) for pod in step.delete)
        refusal = await self._create_all(step)
        for note in step.notes:
            self._say(step.job, note)
        return refusal

    async def _write_status(self, job: JobView, status: JobStatus) -> None:
        if status == job.resource.status:
            return
        patch = status_patch(job.resource.status, status)
        meta = job.resource.metadata
        path = resource_of(job).named(meta.name, meta.namespace, "status")
        answer = await self._client.patch_status(
            path, patch, KubeObject, resource_version=meta.resource_version
        )
        self._listener.wrote_status(job, status, answer.metadata.resource_version)

    async def _delete(self, pod: PodView) -> None:
        """Delete a pod; one that is being deleted already is removed by force."""
        how = Deletion(uid=pod.uid, grace_seconds=0 if pod.deleting else None)
        try:
            gone = await self._client.delete(PODS.named(pod.name, pod.namespace), Pod, how)
        except (NotFound, Conflict):
            return
        if gone is not None:
            self._listener.wrote_pod(gone)

    async def _create_all(self, step: Step) -> str:
        """Make the Service and the pods of a step; what stands against it, "" if nothing does."""
        if step.service is not None:
            _, refusal = await self._create(step.job, SERVICES, step.service, KubeObject)
            if refusal:
                return refusal
        made = await _together(
            self._create(step.job, PODS, manifest, Pod) for manifest in step.create
        )
        for pod, _ in made:
            if pod is not None:
                self._listener.wrote_pod(pod)
        return next((refusal for _, refusal in made if refusal), "")

    async def _create(
        self, job: JobView, resource: Resource, manifest: Manifest, type_: type[K]
    ) -> tuple[K | None, str]:
        """Make an object of a job, or find that it is there; else what stands against it.

        Raises AlreadyExists where what is in its way will go by itself.
        """
        name, namespace = manifest["metadata"]["name"], manifest["metadata"]["namespace"]
        try:
            return await self._client.create(resource.within(namespace), manifest, type_), ""
        except AlreadyExists:
            there = await self._client.get(resource.named(name, namespace), type_)
            if _is_leaving(there.metadata, job):
                raise
        except Refused as error:
            return None, error.message
        if _is_of(there.metadata, job):
            return there, ""
        what = f"{manifest['kind']} {name}"
        return None, f"there is a {what} already that is not the job's: rename the job or that"

    def _say(self, job: JobView, note: Note) -> None:
        meta = job.resource.metadata
        subject = Subject(API_VERSION, job.resource.kind, meta.name, meta.uid, meta.namespace)
        self._events.record(Saying(subject, note.reason, note.message, note.warning))
        for pod in note.pods:
            of_pod = Subject("v1", "Pod", pod.name, pod.uid, pod.namespace)
            self._events.record(Saying(of_pod, note.reason, note.message, note.warning))
        _log.info(note.message, job=job.name, reason=note.reason)


def resource_of(job: JobView) -> Resource:
    """Where a job's kind is in the API."""
    return Resource(GROUP, VERSION, job.resource.definition.plural)


async def _together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All results; where there were errors the first of them, raised when all are over."""
    results = await asyncio.gather(*work, return_exceptions=True)
    found: list[T] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        found.append(result)
    return found


def _is_of(meta: ObjectMeta, job: JobView) -> bool:
    return any(owner.uid == job.uid for owner in meta.owner_references)


def _is_leaving(meta: ObjectMeta, job: JobView) -> bool:
    """Whether an object goes soon: it is being deleted, or was left by a namesake of the job."""
    us = (job.resource.kind, job.resource.metadata.name)
    others = [owner for owner in meta.owner_references if owner.uid != job.uid]
    left = any((owner.kind, owner.name) == us for owner in others)
    return meta.deletion_timestamp is not None or left
