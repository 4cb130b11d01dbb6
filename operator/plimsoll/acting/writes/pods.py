"""Create the Service and the pods of a step, or find that they already exist.

If a response is lost, nobody knows whether a pod was made, and a watch may be deaf for half a
minute. So the API server is asked which pods exist before anything else is done for that job, and
until it responds a pod counts as made: what it holds must not seem free, and a gang must not have
workers of two placements.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

import msgspec

from plimsoll.acting.pods.admission import change_by_admission
from plimsoll.acting.pods.manifest import Manifest
from plimsoll.acting.step import Step
from plimsoll.errors import AlreadyExists, Conflict, NotFound, Refused, Unavailable
from plimsoll.kube.http.client import Deletion, KubeClient, Selection
from plimsoll.kube.http.resources import PODS, SERVICES, Resource
from plimsoll.kube.objects.objects import KubeObject, ObjectMeta, Pod
from plimsoll.observe.labels import JOB_UID, REVISION
from plimsoll.observe.readable import countable_requests
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.observe.views.pods import pod_view
from plimsoll.supervision import count_unforeseen
from plimsoll.vocabulary import logs

_log = logs.logger(__name__)
T = TypeVar("T")
K = TypeVar("K", bound=KubeObject)


class PodMaker:
    """Makes what steps create; `wrote_pod` receives each pod that is found or made."""

    def __init__(self, client: KubeClient, wrote_pod: Callable[[Pod], None]) -> None:
        self._client = client
        self._wrote_pod = wrote_pod
        self.unsure: dict[str, dict[str, Manifest]] = {}
        """The pods that may or may not have been made, by their job's uid and their name."""

    def doubtful(self) -> list[PodView]:
        """Those pods, as if they had been made."""
        return as_made(each for pods in self.unsure.values() for each in pods.values())

    async def make_all(self, step: Step) -> str:
        """Make the Service and the pods of a step; return why that was refused, "" if not."""
        if step.service is not None:
            _, refusal = await self._make(step.job, SERVICES, step.service, KubeObject)
            if refusal:
                return refusal
        made = await together(self._make_pod(step.job, manifest) for manifest in step.create)
        return next((refusal for refusal in made if refusal), "")

    async def make_sure(self, job: JobView) -> None:
        """Find out which pods of a job exist, if that is not known.

        Raises Conflict if some were made that the job's view does not know of.
        """
        if job.uid in self.unsure and (names := await self._unseen(job)):
            raise Conflict(f"created though the API server did not answer: {', '.join(names)}")

    async def _unseen(self, job: JobView) -> list[str]:
        """Find out which pods of a job exist; return the names of those not seen before."""
        path = PODS.within(job.resource.metadata.namespace)
        found = await self._client.list_all(
            path, Pod, selection=Selection(labels=f"{JOB_UID}={job.uid}")
        )
        self.unsure.pop(job.uid, None)
        known = {pod.uid for pod in job.pods}
        unseen = [pod for pod in found if pod.metadata.uid not in known]
        for pod in unseen:
            self._wrote_pod(pod)
        names = [pod.metadata.name for pod in unseen]
        if names:
            _log.info("created though the API server did not answer", job=job.name, pods=names)
        return names

    async def _make_pod(self, job: JobView, manifest: Manifest) -> str:
        """Make a pod; return why that was refused, "" if it was not."""
        try:
            pod, refusal = await self._make(job, PODS, manifest, Pod)
        except Unavailable:
            self.unsure.setdefault(job.uid, {})[manifest["metadata"]["name"]] = manifest
            raise
        if pod is not None:
            self._wrote_pod(pod)
        return refusal

    async def _make(
        self, job: JobView, resource: Resource, manifest: Manifest, type_: type[K]
    ) -> tuple[K | None, str]:
        """Make an object of a job, or find that it exists; otherwise return why that was refused.

        Raises AlreadyExists if what is in its way will go by itself.
        """
        name, namespace = manifest["metadata"]["name"], manifest["metadata"]["namespace"]
        try:
            made = await self._client.create(resource.within(namespace), manifest, type_)
            return await self._checked(manifest, made)
        except AlreadyExists:
            there = await self._client.get(resource.named(name, namespace), type_)
            if _is_leaving(there.metadata, job):
                raise
            if isinstance(there, Pod) and _is_of_another_placement(there, manifest, job):
                self._wrote_pod(there)
                raise
        except Refused as error:
            return None, error.message
        if _is_of(there.metadata, job):
            return await self._checked(manifest, there)
        what = f"{manifest['kind']} {name}"
        return None, f"{what} already exists and does not belong to the job: rename one of them"

    async def _checked(self, manifest: Manifest, made: K) -> tuple[K | None, str]:
        """The object made; a pod that an admission rule has made useless is deleted at once."""
        change = change_by_admission(manifest, made) if isinstance(made, Pod) else ""
        if not change:
            return made, ""
        path = PODS.named(made.metadata.name, made.metadata.namespace)
        with contextlib.suppress(NotFound, Conflict):
            await self._client.delete(path, Pod, Deletion(uid=made.metadata.uid))
        return None, change


def as_made(manifests: Iterable[Manifest]) -> list[PodView]:
    """The pods as if they had been made, without those that cannot be read."""
    found: list[PodView] = []
    for manifest in manifests:
        try:
            pod = msgspec.convert(manifest, Pod)
            found.append(pod_view(pod, countable_requests(pod)))
        except Exception as error:  # noqa: BLE001 - around one pod: the others count
            count_unforeseen("pod to come", error, pod=str(manifest["metadata"]["name"]))
    return found


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All results; if there were errors, the first is raised once all are over."""
    results = await asyncio.gather(*work, return_exceptions=True)
    found: list[T] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        found.append(result)
    return found


def _is_of(meta: ObjectMeta, job: JobView) -> bool:
    return any(owner.uid == job.uid for owner in meta.owner_references)


def _is_of_another_placement(there: Pod, manifest: Manifest, job: JobView) -> bool:
    """Whether a pod is the job's, but made for a placement that is no longer in force."""
    wanted = manifest["metadata"]["labels"][REVISION]
    return _is_of(there.metadata, job) and there.metadata.labels.get(REVISION, wanted) != wanted


def _is_leaving(meta: ObjectMeta, job: JobView) -> bool:
    """Whether an object goes soon: it is being deleted, or a namesake of the job left it."""
    us = (job.resource.kind, job.resource.metadata.name)
    others = [owner for owner in meta.owner_references if owner.uid != job.uid]
    left = any((owner.kind, owner.name) == us for owner in others)
    return meta.deletion_timestamp is not None or left
