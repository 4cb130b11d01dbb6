"""How steps become writes: a few at a time, each job's in order, the most urgent first.

A step that fails is not tried again as it is: the next turn looks at what is true then. Until its
step is done, a job counts as if it were, so that no plan gives its place away.
"""

import asyncio
import contextlib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn, Protocol

import msgspec
from pydantic import JsonValue

from plimsoll import telemetry
from plimsoll.acting.cluster_status import ClusterResource, ClusterStatus
from plimsoll.acting.pod_manifest import Manifest
from plimsoll.acting.step import Note, Step
from plimsoll.api.definition import API_VERSION, GROUP, VERSION
from plimsoll.api.kinds import JobStatus
from plimsoll.api.model import ApiModel
from plimsoll.errors import AlreadyExists, ApiError, Conflict, NotFound, NotLeader, Refused
from plimsoll.kube.client import Deletion, KubeClient
from plimsoll.kube.events import EventRecorder, Saying, Subject
from plimsoll.kube.objects import ObjectMeta, Pod
from plimsoll.kube.resources import PODS, SERVICES, Resource
from plimsoll.observe.snapshot import JOB_UID, JobView, PodView
from plimsoll.telemetry import Reason

WRITERS = 16
_log = telemetry.logger(__name__)


class Listener(Protocol):
    """Who is told what was written, before the watches say it."""

    def wrote_status(self, job: JobView, status: JobStatus, version: str) -> None:
        """A job's status is in the API server, in this version."""
        ...

    def wrote_pod(self, pod: Pod) -> None:
        """A pod was made."""
        ...

    def refused(self, job: JobView, message: str) -> None:
        """The API server will not take a job's pods."""
        ...

    def done(self, step: Step, *, complete: bool) -> None:
        """A step is over; it is not complete if a write of it failed."""
        ...


class Raw(msgspec.Struct, frozen=True):
    """An answer of which only the metadata matters."""

    metadata: ObjectMeta


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
                    path, patch, Raw, resource_version=meta.resource_version
                )
            except (ApiError, NotLeader) as error:
                _log.debug("status not published", object=meta.name, error=str(error))

    async def _work(self) -> NoReturn:
        while True:
            _, step = await self._queue.get()
            complete = False
            try:
                complete = await self._perform(step)
            except (ApiError, NotLeader) as error:
                _log.info(
                    "step not done",
                    job=step.job.name,
                    reason=Reason.STALE if isinstance(error, Conflict) else type(error).__name__,
                    error=str(error),
                )
            finally:
                self._in_flight.discard(step.job.uid)
                self._listener.done(step, complete=complete)

    async def _perform(self, step: Step) -> bool:
        if not await self._write_status(step.job, step.status):
            return False
        await self._delete_all(step)
        if step.service is not None:
            await self._create_service(step.service)
        made = await self._create_all(step)
        for note in step.notes:
            self._say(step.job, note)
        return made

    async def _write_status(self, job: JobView, status: JobStatus) -> bool:
        if status == job.resource.status:
            return True
        patch = status_patch(job.resource.status, status)
        meta = job.resource.metadata
        path = resource_of(job).named(meta.name, meta.namespace, "status")
        try:
            answer = await self._client.patch_status(
                path, patch, Raw, resource_version=meta.resource_version
            )
        except NotFound:
            return False
        self._listener.wrote_status(job, status, answer.metadata.resource_version)
        return True

    async def _delete_all(self, step: Step) -> None:
        await asyncio.gather(*(self._delete(pod) for pod in step.delete))

    async def _delete(self, pod: PodView) -> None:
        try:
            gone = await self._client.delete(
                PODS.named(pod.name, pod.namespace), Pod, Deletion(uid=pod.uid)
            )
        except (NotFound, Conflict):
            return
        if gone is not None:
            self._listener.wrote_pod(gone)

    async def _create_service(self, manifest: Manifest) -> None:
        path = SERVICES.within(manifest["metadata"]["namespace"])
        with contextlib.suppress(AlreadyExists):
            await self._client.create(path, manifest, Raw)

    async def _create_all(self, step: Step) -> bool:
        results = await asyncio.gather(
            *(self._create(step.job, manifest) for manifest in step.create)
        )
        refusals = [result for result in results if result]
        if refusals:
            self._listener.refused(step.job, refusals[0])
        return not refusals

    async def _create(self, job: JobView, manifest: Manifest) -> str | None:
        """Make one pod; what the API server says if it will not have it."""
        meta = manifest["metadata"]
        try:
            pod = await self._client.create(PODS.within(meta["namespace"]), manifest, Pod)
        except AlreadyExists:
            return await self._whose(job, meta["name"], meta["namespace"])
        except Refused as error:
            return error.message
        self._listener.wrote_pod(pod)
        return None

    async def _whose(self, job: JobView, name: str, namespace: str) -> str | None:
        """A pod of that name is there: fine if it is the job's, else a refusal."""
        try:
            pod = await self._client.get(PODS.named(name, namespace), Pod)
        except NotFound:
            return None
        if pod.metadata.labels.get(JOB_UID) == job.uid:
            self._listener.wrote_pod(pod)
            return None
        return f"there is a pod {name} already that is not the job's: rename the job or the pod"

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


def status_patch(old: ApiModel, new: ApiModel) -> dict[str, JsonValue]:
    """The merge patch from a status as the API server has it to a new one, defaults included."""
    there = old.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
    return merge_patch(there, new.wire())


def merge_patch(old: Mapping[str, JsonValue], new: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """What JSON merge patch (RFC 7396) turns `old` into `new`; empty where they are the same."""
    patch: dict[str, JsonValue] = dict.fromkeys(old.keys() - new.keys())
    for key, value in new.items():
        was = old.get(key)
        if isinstance(was, dict) and isinstance(value, dict):
            inner = merge_patch(was, value)
            if inner:
                patch[key] = inner
        elif was != value or key not in old:
            patch[key] = value
    return patch
