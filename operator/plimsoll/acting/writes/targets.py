"""Scale the workloads that jobs target."""

from typing import Protocol

from plimsoll.acting.pods.manifest import Manifest
from plimsoll.acting.step import TargetWrites
from plimsoll.clock import Clock
from plimsoll.errors import Conflict, NotFound, Refused
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import PODS
from plimsoll.kube.objects.objects import Pod
from plimsoll.kube.watching.target_reading import Workloads
from plimsoll.kube.watching.workloads import Reference, Scale
from plimsoll.observe.snapshot import PodView
from plimsoll.observe.whole_numbers import whole_number

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_SECONDS_PER_MINUTE = 60
RECENT_MINUTES = 10
"""For this long a mark need not be set again; the API server requires costs to be integers."""


class TargetListener(Protocol):
    """Receives what was written, and what was refused."""

    def wrote_pod(self, pod: Pod) -> None:
        """A pod was written."""
        ...

    def wrote_scale(self, reference: Reference, scale: Scale) -> None:
        """The count of a target was set."""
        ...

    def doubted(self, reference: Reference) -> None:
        """A target may not have the count that it was thought to have."""
        ...


class TargetWriter:
    """Writes to targets through a client of their own, and marks on their pods."""

    def __init__(
        self, client: KubeClient, targets: KubeClient, listener: TargetListener, clock: Clock
    ) -> None:
        self._client, self._workloads = client, Workloads(targets)
        self._listener, self._clock = listener, clock

    async def scale(self, writes: TargetWrites) -> str:
        """Set the count; return why that was refused, "" if it was not. Raises ApiError."""
        if writes.replicas is None:
            return ""
        try:
            for pod in writes.first_to_go:
                await self._mark(pod)
            scale = await self._workloads.scale(
                writes.reference, seen=writes.seen, replicas=writes.replicas
            )
        except Conflict:
            self._listener.doubted(writes.reference)
            raise
        except Refused as error:
            return error.message
        self._listener.wrote_scale(writes.reference, scale)
        return ""

    async def _mark(self, pod: PodView) -> None:
        """Have a ReplicaSet remove the pod first, even before pods that were marked long ago."""
        minutes = int(self._clock.now().timestamp()) // _SECONDS_PER_MINUTE
        try:
            there = await self._client.get(PODS.named(pod.name, pod.namespace), Manifest)
        except NotFound:
            return
        cost = there["metadata"].get("annotations", {}).get(DELETION_COST, "0")
        if not is_recent(cost, minutes):
            marked = {DELETION_COST: str(-minutes)}
            await self._patch(pod, {"metadata": {"uid": pod.uid, "annotations": marked}})

    async def _patch(self, pod: PodView, body: Manifest) -> None:
        try:
            path = PODS.named(pod.name, pod.namespace)
            self._listener.wrote_pod(await self._client.merge_patch(path, body, Pod))
        except NotFound:
            return


def is_recent(cost: str, minutes: int) -> bool:
    """Whether a pod's deletion cost shows a recent mark, at `minutes` since 1970."""
    marked = whole_number(cost.removeprefix("-")) if cost.startswith("-") else None
    return marked is not None and marked >= minutes - RECENT_MINUTES
